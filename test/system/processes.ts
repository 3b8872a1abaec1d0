// Programs of these tests as child processes. Each is bundled once, since a start from TypeScript sources takes a
// second.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundling } from '../../lib/topology/topology.js';

export interface Program {
  readonly path: string;
  remove(): Promise<void>;
}

/** Bundles the program in `test/system/<name>.ts`; the name may contain a folder. */
export async function bundleProgram(name: string): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-system-'));
  const { banner, mainFields, ...settings } = bundling;
  await build({
    ...settings,
    sourcemap: false,
    mainFields: [...mainFields],
    banner: { js: banner },
    bundle: true,
    entryPoints: [fileURLToPath(new URL(`${name}.ts`, import.meta.url))],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    logLevel: 'silent',
  });
  return {
    path: join(folder, `${basename(name)}.mjs`),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface RunningProgram {
  readonly child: ChildProcess;
  /** Resolves with how it ended and all its output. */
  readonly ended: Promise<ProgramEnd>;
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Timeout of a program, after which it counts as hanging. */
const patienceMs = 60_000;

/**
 * Starts a program with one argument, which it receives as JSON, and with options for Node. It is killed after a
 * minute.
 */
export function startProgram({ path }: Program, argument: unknown, options: readonly string[] = []): RunningProgram {
  const child = spawn(process.execPath, [...options, path, JSON.stringify(argument)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
  });
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    const impatience = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`the program did not end within ${patienceMs} ms: ${stderr}`));
    }, patienceMs);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(impatience);
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, ended };
}
