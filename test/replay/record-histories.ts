// Writes the histories of this version: npx tsx test/replay/record-histories.ts

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { record } from './histories/record.js';
import { recordings } from './histories/workflows.js';

const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const folder = new URL(`histories/${version}/`, import.meta.url);
try {
  await mkdir(folder);
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  // Whatever a released version has written must stay readable, whatever the current code writes.
  process.stderr.write(`there are histories of ${version}; they are never written again\n`);
  process.exit(1);
}
// The layout of .prettierrc.json, which the repository is checked against.
const layout = { parser: 'json', printWidth: 120 } as const;
for (const [name, recording] of Object.entries(recordings)) {
  for (const [file, history] of Object.entries(await record(name, recording))) {
    await writeFile(new URL(`${file}.json`, folder), await format(JSON.stringify(history), layout));
    process.stdout.write(`${version}/${file}.json: ${history.events.length} events\n`);
  }
}
