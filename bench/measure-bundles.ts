import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import { bundle } from '../lib/bundle/bundle.js';
import { type Trim, trims } from '../lib/bundle/trims.js';

export interface BundleSize {
  /** Bytes that Lambda loads before the first call: the entry and all its static imports. */
  readonly atOnceBytes: number;
  /** Bytes including what the first call of a remote server loads: the protocols, the guarded client, undici. */
  readonly withServerBytes: number;
  /** Bytes including what a busy deployment also loads: the clients of Secrets Manager, for its keys, and of SQS. */
  readonly busyBytes: number;
  /**
   * Bytes including everything that loads when configured or requested: KMS, SSM, JWT, SigV4, schedules, other
   * credentials.
   */
  readonly allBytes: number;
  /** Bytes of the clients of MCP and A2A. */
  readonly protocolBytes: number;
}

const root = new URL('../', import.meta.url);

/** Measures the bundle of one function, as it would be deployed with an app of one workflow that uses no library. */
export async function measureBundle(name: string, applied: readonly Trim[] = trims): Promise<BundleSize> {
  const outDir = await mkdtemp(join(tmpdir(), 'outwait-bundle-'));
  let metafile: Metafile | undefined;
  try {
    await bundle({
      configFile: fileURLToPath(new URL('bench/small-app/outwait.config.ts', root)),
      outDir,
      entries: { [name]: fileURLToPath(new URL(`functions/${name}.ts`, root)) },
      trims: applied,
      onMetafile: (made) => {
        metafile = made;
      },
    });
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
  if (metafile === undefined) throw new Error('esbuild returned no metadata of the bundle');
  return sizesIn(metafile, `${name}.mjs`);
}

/** The entry points of the parts that the first call of a remote server loads. */
const serverParts = /^(lib\/remote\/(wiring\/protocols|http\/http)\.ts|undici-parts:entry)$/;
const queueAndSecretParts = /^lib\/(queue\/sqs-|sdk\/(secrets-manager|sqs)-client)/;

function sizesIn({ outputs }: Metafile, entryName: string): BundleSize {
  const entry = Object.keys(outputs).find((path) => path.endsWith(`/${entryName}`));
  if (entry === undefined) throw new Error(`there is no ${entryName}`);
  const startsWith = (parts: RegExp) => (path: string) => parts.test(outputs[path]?.entryPoint ?? '');
  const loadedWith = (isLoaded: (path: string) => boolean): Set<string> => reachable(outputs, entry, isLoaded);
  const bytesOf = (paths: Iterable<string>): number =>
    [...paths].reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0);
  const isServer = startsWith(serverParts);
  const isQueueOrSecret = startsWith(queueAndSecretParts);
  const all = loadedWith(() => true);
  return {
    atOnceBytes: bytesOf(loadedWith(() => false)),
    withServerBytes: bytesOf(loadedWith(isServer)),
    busyBytes: bytesOf(loadedWith((path) => isServer(path) || isQueueOrSecret(path))),
    allBytes: bytesOf(all),
    protocolBytes: [...all].reduce(
      (sum, path) => sum + bytesFrom(outputs[path]?.inputs ?? {}, /(^|\/)lib\/remote\/(mcp|a2a)\//),
      0,
    ),
  };
}

function bytesFrom(inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>, pattern: RegExp): number {
  return Object.entries(inputs)
    .filter(([path]) => pattern.test(path))
    .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
}

/** Returns the files that `from` loads; of the lazily loaded ones only those for which `isLoaded` returns true. */
function reachable(outputs: Metafile['outputs'], from: string, isLoaded: (path: string) => boolean): Set<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const { path: next, kind, external } of outputs[path]?.imports ?? [])
      if (external !== true && (kind !== 'dynamic-import' || isLoaded(next))) open.push(next);
  }
  return seen;
}
