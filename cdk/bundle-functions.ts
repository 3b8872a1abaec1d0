// A program: bundles the functions of a deployment. Arguments: the configuration, the folder that gets the bundles, and
// the names of the functions, each of which gets a folder there. It is a process of its own, since a bundle takes
// promises and a construct cannot wait for one.

import { readdir, rm } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../lib/aws/bundle.js';

const here = fileURLToPath(import.meta.url);
const [configFile = '', outDir = '', ...names] = process.argv.slice(2);

try {
  await Promise.all(names.map(bundleFunction));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function bundleFunction(name: string): Promise<void> {
  const folder = join(outDir, name);
  // TypeScript in a clone, JavaScript when built.
  const entry = join(dirname(here), '..', 'functions', `${name}${extname(here)}`);
  await bundle({ configFile, outDir: folder, entries: { index: entry } });
  // Larger than the code, and a function does not read them.
  const maps = (await readdir(folder)).filter((file) => file.endsWith('.map'));
  await Promise.all(maps.map((file) => rm(join(folder, file))));
}
