import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface AgentProcess {
  readonly origin: string;
  /** Lets the held tasks end. */
  readonly release: () => Promise<void>;
  tasksStarted(): Promise<number>;
  end(): Promise<void>;
}

/** Runs an agent of these tests as a separate process. Throws with its last output if it does not start. */
export async function startAgentProcess(name: 'a2a-1.0-process' | 'a2a-0.3-process'): Promise<AgentProcess> {
  const program = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program], { stdio: ['pipe', 'pipe', 'pipe'] });
  let lastWords = '';
  child.stderr.on('data', (data: Buffer) => (lastWords += data.toString()));
  const origin = await Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => String(line)),
    once(child, 'exit').then(() => {
      throw new Error(`${name} ended: ${lastWords}`);
    }),
  ]);
  return {
    origin,
    release: async () => {
      await fetch(`${origin}/release`, { method: 'POST' });
    },
    tasksStarted: async () => (await (await fetch(`${origin}/tasks-started`)).json()) as number,
    end: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill();
  await gone;
}
