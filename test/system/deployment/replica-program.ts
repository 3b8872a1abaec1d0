import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transform } from 'esbuild';

export interface ReplicaProgram {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Writes the program around a function as JavaScript, since loading TypeScript takes longer than the rest of a start.
 */
export async function writeReplicaProgram(): Promise<ReplicaProgram> {
  const source = await readFile(new URL('replica-process.ts', import.meta.url), 'utf8');
  const { code } = await transform(source, { loader: 'ts', format: 'esm', target: 'node20' });
  const folder = await mkdtemp(join(tmpdir(), 'outwait-replica-'));
  const path = join(folder, 'replica-process.mjs');
  await writeFile(path, code);
  return { path, remove: () => rm(folder, { recursive: true, force: true }) };
}
