import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { processOf } from '../../lib/local/process-identity.js';

/** Timeouts for a process to become ready, and to end when asked to. */
const readyTimeoutMs = 20_000;
const endTimeoutMs = 5_000;

export interface Child {
  readonly pid: number;
  /** The line with which the program reported that it is ready. */
  readonly readyLine: string;
  /** Kills it as a crash would, and returns when it is gone. */
  kill(): Promise<void>;
}

interface ChildOptions {
  readonly args: readonly string[];
  /** Matches the line that reports that the program is ready. */
  readonly ready: RegExp;
  readonly env?: Readonly<Record<string, string>>;
  /** Receives each line that the program prints. */
  readonly onLine?: (line: string) => void;
}

/** The programs that were started, so that none outlives the process that started them. */
export class Children {
  readonly #running = new Set<ChildProcess>();
  readonly #asked = new Set<ChildProcess>();
  readonly #unexpectedEnds: string[] = [];

  /** Programs that ended unexpectedly, each with its last output. */
  get unexpectedEnds(): readonly string[] {
    return this.#unexpectedEnds;
  }

  /** Starts a Node program and waits until it reports that it is ready. Throws with its output if it does not. */
  async start(name: string, options: ChildOptions, signal: AbortSignal): Promise<Child> {
    const child = spawn(process.execPath, options.args, {
      // Standard input is a pipe: the servers of the demo end when it closes.
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
    });
    this.#running.add(child);
    const said: string[] = [];
    const withLastWords = (what: string): string => [`${name} ${what}`, ...said.slice(-20)].join('\n  ');
    child.once('exit', (code, by) => {
      this.#running.delete(child);
      if (!this.#asked.has(child))
        this.#unexpectedEnds.push(withLastWords(`ended by itself with ${code ?? by ?? '?'}`));
    });
    // A pipe to a program that has ended emits its own error; the end itself is reported by `exit`.
    child.stdin.on('error', () => undefined);

    const readyLine = await new Promise<string>((resolve, reject) => {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]);
      const fail = (what: string): void => {
        reject(new Error(withLastWords(what)));
      };
      const hear = (line: string): void => {
        said.push(line);
        options.onLine?.(line);
        if (options.ready.test(line)) resolve(line);
      };
      createInterface({ input: child.stdout }).on('line', hear);
      createInterface({ input: child.stderr }).on('line', hear);
      child.once('error', (error) => {
        fail(`did not start: ${error.message}`);
      });
      child.once('exit', () => {
        fail('ended before it was ready');
      });
      timeout.addEventListener('abort', () => {
        fail('was not ready in time');
      });
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${name} has no process id`);
    return { pid, readyLine, kill: () => this.#end(child, 'SIGKILL') };
  }

  /** Asks all programs to end, and kills those that do not in time. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.#end(child, 'SIGTERM')));
  }

  /** Kills all at once, for exits in which nothing can be awaited any more. */
  killAll(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }

  async #end(child: ChildProcess, by: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#asked.add(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(by);
    const insist = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
    await ended;
    clearTimeout(insist);
  }
}

/** Kills a process that is not our child, and returns when it is gone. @throws Error if it does not go */
export async function killProcess(pid: number): Promise<void> {
  for (let attempt = 0; processOf(pid) !== undefined; attempt++) {
    if (attempt === 100) throw new Error(`process ${pid} does not end`);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process ended between the two calls.
    }
    await delay(20);
  }
}
