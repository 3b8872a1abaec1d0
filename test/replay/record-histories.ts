// Writes the histories of this version that do not exist yet: npx tsx test/replay/record-histories.ts

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { record } from './histories/record.js';
import { recordings } from './histories/workflows.js';

const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const folder = new URL(`histories/${version}/`, import.meta.url);
await mkdir(folder, { recursive: true });
// The layout of .prettierrc.json, which the repository is checked against.
const layout = { parser: 'json', printWidth: 120 } as const;
for (const [name, recording] of Object.entries(recordings)) {
  for (const [file, history] of Object.entries(await record(name, recording))) {
    const target = new URL(`${file}.json`, folder);
    // Whatever a version has written must stay readable, whatever the current code writes.
    if (existsSync(target)) continue;
    await writeFile(target, await format(JSON.stringify(history), layout), { flag: 'wx' });
    process.stdout.write(`${version}/${file}.json: ${history.events.length} events\n`);
  }
}
