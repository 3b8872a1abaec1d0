import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** How long a process may take to say that it is ready, and to end when asked to. */
const readyTimeoutMs = 20_000;
const endTimeoutMs = 5_000;

export interface Child {
  readonly pid: number;
  /** The line in which the program said that it is ready. */
  readonly readyLine: string;
  /** Kills it as a crash would, and returns when it is gone. */
  kill(): Promise<void>;
}

interface ChildOptions {
  readonly args: readonly string[];
  /** Recognises the line that says that the program is ready. */
  readonly ready: RegExp;
  readonly env?: Readonly<Record<string, string>>;
}

/** The programs that were started, so that none outlives the one that started them. */
export class Children {
  readonly #running = new Set<ChildProcess>();

  /** Starts a Node program and waits until it says that it is ready. Throws with its output when it does not. */
  async start(name: string, options: ChildOptions, signal: AbortSignal): Promise<Child> {
    const child = spawn(process.execPath, options.args, {
      // Standard input is a pipe: the servers of the demo end when it closes.
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
    });
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    // A pipe to a program that has ended reports an error of its own; its end is seen through `exit`.
    child.stdin.on('error', () => undefined);

    const said: string[] = [];
    const readyLine = await new Promise<string>((resolve, reject) => {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]);
      const fail = (what: string): void => {
        reject(new Error([`${name} ${what}`, ...said.slice(-20)].join('\n  ')));
      };
      const hear = (line: string): void => {
        said.push(line);
        if (options.ready.test(line)) resolve(line);
      };
      createInterface({ input: child.stdout }).on('line', hear);
      createInterface({ input: child.stderr }).on('line', hear);
      child.once('error', (error) => {
        fail(`did not start: ${error.message}`);
      });
      child.once('exit', (code, by) => {
        fail(`ended with ${code ?? by ?? 'no code'} before it was ready`);
      });
      timeout.addEventListener('abort', () => {
        fail('was not ready in time');
      });
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${name} has no process id`);
    return { pid, readyLine, kill: () => end(child, 'SIGKILL') };
  }

  /** Asks all to end and insists after a while. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => end(child, 'SIGTERM')));
  }

  /** For the moment in which nothing can be awaited any more. */
  killAll(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }
}

async function end(child: ChildProcess, by: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(by);
  const insist = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
  await ended;
  clearTimeout(insist);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Kills a process that is not our child, and returns when it is gone. */
export async function killProcess(pid: number): Promise<void> {
  for (let attempt = 0; isAlive(pid) && attempt < 50; attempt++) {
    process.kill(pid, 'SIGKILL');
    await delay(20);
  }
}
