import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import { bundle } from '../lib/aws/bundle.js';

export interface BundleSize {
  /** What Lambda loads before the first call: the entry and all that it imports at once. */
  readonly atOnceBytes: number;
  /** With undici, which the first call of a remote server loads. */
  readonly withUndiciBytes: number;
  /** With all that is only loaded where it is configured: clients of KMS, SSM and Secrets Manager, JWT, SigV4. */
  readonly allBytes: number;
  /** What comes from the clients of MCP and A2A. */
  readonly protocolBytes: number;
}

const root = new URL('../', import.meta.url);

/** Sizes of the bundle of one function, as it would be deployed with an app of one workflow that uses no library. */
export async function measureBundle(name: string): Promise<BundleSize> {
  const outDir = await mkdtemp(join(tmpdir(), 'outwait-bundle-'));
  let metafile: Metafile | undefined;
  try {
    await bundle({
      configFile: fileURLToPath(new URL('bench/small-app/outwait.config.ts', root)),
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
  const atOnce = reachable(outputs, entry, (kind) => kind !== 'dynamic-import');
  const all = reachable(outputs, entry, () => true);
  const partOf = (pattern: RegExp): number =>
    [...all].reduce((sum, path) => sum + bytesFrom(outputs[path]?.inputs ?? {}, pattern), 0);
  return {
    atOnceBytes: bytesOf(atOnce),
    withUndiciBytes: bytesOf(atOnce) + partOf(/(^|\/)(node_modules\/undici\/|undici-parts)/),
    allBytes: bytesOf(all),
    protocolBytes: partOf(/(^|\/)lib\/remote\/(mcp|a2a)\//),
  };
}

function bytesFrom(inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>, pattern: RegExp): number {
  return Object.entries(inputs)
    .filter(([path]) => pattern.test(path))
    .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
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
