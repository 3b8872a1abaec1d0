import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { bundle } from '../../../lib/bundle/bundle.js';
import { functions } from '../../../lib/topology/topology.js';

/** The files of a deployment's functions, by name. */
export type Bundles = Readonly<Record<string, string>>;

/** Bundles the functions of the current code with the app of `app/<name>.config.ts`. */
export async function makeBundles(name: 'kept' | 'changed'): Promise<Bundles> {
  const outDir = await mkdtemp(join(tmpdir(), 'outwait-upgrade-'));
  try {
    await bundle({
      configFile: fileURLToPath(new URL(`app/${name}.config.ts`, import.meta.url)),
      outDir,
      entries: Object.fromEntries(
        Object.keys(functions).map((entry) => [
          entry,
          fileURLToPath(new URL(`../../../functions/${entry}.ts`, import.meta.url)),
        ]),
      ),
    });
    const files = (await readdir(outDir)).filter((file) => file.endsWith('.mjs')).sort();
    return Object.fromEntries(
      await Promise.all(files.map(async (file) => [file, withoutMap(await readFile(join(outDir, file), 'utf8'))])),
    ) as Bundles;
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

function withoutMap(code: string): string {
  return code.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n');
}

export async function writeBundles(bundles: Bundles, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await Promise.all(Object.entries(bundles).map(([file, code]) => writeFile(join(folder, file), code)));
}

/** Packs them into one file of about a fifth of their size. */
export function packBundles(bundles: Bundles): Buffer {
  return brotliCompressSync(JSON.stringify(bundles), { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } });
}

export function unpackBundles(packed: Buffer): Bundles {
  return JSON.parse(brotliDecompressSync(packed).toString()) as Bundles;
}
