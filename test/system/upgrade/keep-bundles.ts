// Keeps the bundles of this version: npm run bundles

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { makeBundles, packBundles } from './bundles.js';

const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const file = new URL(`fixtures/${version}.json.br`, import.meta.url);
if (existsSync(file)) {
  // Runs that a released version has started must continue, whatever the current code would start.
  process.stderr.write(`there are bundles of ${version}; they are never made again\n`);
  process.exit(1);
}
const packed = packBundles(await makeBundles('kept'));
await writeFile(file, packed);
process.stdout.write(`${version}.json.br: ${packed.length} bytes\n`);
