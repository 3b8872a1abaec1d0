import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import { bundle } from '../lib/aws/bundle.js';

export interface BundleSize {
  /** What Lambda loads before the first call: the entry and all that it imports at once. */
  readonly atOnceBytes: number;
  /** With what is loaded when it is first needed. */
  readonly allBytes: number;
  /** Part of all that comes from the clients of MCP and A2A. */
  readonly protocolBytes: number;
}

const root = new URL('../', import.meta.url);

/** Sizes of the bundle of one function, as it would be deployed with the examples. */
export async function measureBundle(name: string): Promise<BundleSize> {
  const outDir = await mkdtemp(join(tmpdir(), 'outwait-bundle-'));
  let metafile: Metafile | undefined;
  try {
    await bundle({
      configFile: fileURLToPath(new URL('examples/outwait.config.ts', root)),
      outDir,
      entries: { [name]: fileURLToPath(new URL(`functions/${name}.ts`, root)) },
      onMetafile: (made) => {
        metafile = made;
      },
    });
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
  if (metafile === undefined) throw new Error('esbuild said nothing of the bundle');
  return sizesIn(metafile, `${name}.mjs`);
}

function sizesIn({ outputs }: Metafile, entryName: string): BundleSize {
  const entry = Object.keys(outputs).find((path) => path.endsWith(`/${entryName}`));
  if (entry === undefined) throw new Error(`there is no ${entryName}`);
  const bytesOf = (paths: Iterable<string>): number =>
    [...paths].reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
  const all = reachable(outputs, entry, () => true);
  let protocolBytes = 0;
  for (const path of all) {
    for (const [input, { bytesInOutput }] of Object.entries(outputs[path]?.inputs ?? {}))
      if (/(^|\/)lib\/remote\/(mcp|a2a)\//.test(input)) protocolBytes += bytesInOutput;
  }
  return {
    atOnceBytes: bytesOf(reachable(outputs, entry, (kind) => kind !== 'dynamic-import')),
    allBytes: bytesOf(all),
    protocolBytes,
  };
}

function reachable(outputs: Metafile['outputs'], from: string, follows: (kind: string) => boolean): Set<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const { path: next, kind, external } of outputs[path]?.imports ?? [])
      if (external !== true && follows(kind)) open.push(next);
  }
  return seen;
}
