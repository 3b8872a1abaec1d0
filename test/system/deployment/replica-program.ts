import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export interface ReplicaProgram {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Writes the program around a function as JavaScript, since loading TypeScript takes longer than the rest of a start.
 */
export async function writeReplicaProgram(): Promise<ReplicaProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-replica-'));
  const path = join(folder, 'replica-process.mjs');
  const source = fileURLToPath(new URL('replica-process.ts', import.meta.url));
  await build({
    entryPoints: [source],
    outfile: path,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  });
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
