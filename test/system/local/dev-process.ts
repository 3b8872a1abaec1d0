import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../../bin/outwait.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as a separate process, to its end. */
export async function runCli(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  const { child, output } = spawnCli(args, options);
  const code = await exitOf(child);
  return { code, ...output };
}

export interface DevProcess {
  readonly child: ChildProcess;
  readonly ready: string;
  readonly url: string;
  readonly output: { stdout: string; stderr: string };
  /** Sends the signal and waits for the end; returns null if the signal ended it. */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGKILL'): Promise<number | null>;
}

/** Starts `outwait dev` and waits for its ready line; rejects with its stderr if it ends before. */
export async function startDevProcess(
  folder: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<DevProcess> {
  const { child, output } = spawnCli(['dev', '--port', '0', ...args], { cwd: folder, env });
  const ended = exitOf(child);
  const ready = await Promise.race([
    new Promise<string>((resolve) => {
      child.stdout.on('data', () => {
        const line = /^outwait dev ready .*$/m.exec(output.stdout)?.[0];
        if (line !== undefined) resolve(line);
      });
    }),
    ended.then((code) => Promise.reject(new Error(`outwait dev ended with ${code ?? 'a signal'}: ${output.stderr}`))),
  ]);
  return {
    child,
    ready,
    url: /http:\S+/.exec(ready)?.[0] ?? '',
    output,
    end: async (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

function spawnCli(args: readonly string[], { cwd, env }: { cwd?: string; env?: Record<string, string> }) {
  const child = spawn(process.execPath, [bin, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => (output.stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output.stderr += data.toString()));
  return { child, output };
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve));
}

/** Creates a folder with an app of two workflows; `recorded` notes in a file that its step ran, then sleeps. */
export async function anAppFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-dev-'));
  await writeFile(
    join(folder, 'outwait.config.ts'),
    `import { appendFileSync } from 'node:fs';
     import { defineApp, defineWorkflow } from 'outwait';
     const hello = defineWorkflow<{ name: string }>({ name: 'hello', run: async (_ctx, { name }) => ({ greeting: \`hello \${name}\` }) });
     const fails = defineWorkflow({ name: 'fails', run: async () => { throw new Error('no luck'); } });
     const recorded = defineWorkflow<{ file: string }>({
       name: 'recorded',
       async run(ctx, { file }) {
         await ctx.step('note', () => appendFileSync(file, 'ran\\n'));
         await ctx.sleep({ seconds: 3 });
         return 'woken';
       },
     });
     export default defineApp({ workflows: [hello, fails, recorded] });`,
  );
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
