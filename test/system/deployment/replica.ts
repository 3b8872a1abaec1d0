import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Invocation {
  readonly id: string;
  readonly event: unknown;
  readonly deadlineAtMs: number;
  readonly context: Readonly<Record<string, string>>;
}

export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** Messages of a replica to its parent. */
export type ReplicaMessage =
  | { readonly kind: 'ready' }
  /** A part of a streamed response, in base64. */
  | { readonly kind: 'part'; readonly part: string }
  | { readonly kind: 'done'; readonly id: string; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: string; readonly error: FunctionError };

type Awaited = Exclude<ReplicaMessage, { kind: 'part' }>;

/** Takes a part of a streamed response. */
export type OnPart = (bytes: Buffer) => void;

export type InvocationResult =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: FunctionError };

export interface ReplicaOptions {
  readonly name: string;
  /** `replica-process.ts` as JavaScript. */
  readonly program: string;
  readonly file: string;
  readonly handlerName: string;
  readonly folder: string;
  readonly memoryMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly onOutput: (line: string) => void;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) end(child);
});

/** Ends a process, even if it is frozen. */
function end(child: ChildProcess): void {
  child.kill('SIGCONT');
  child.kill('SIGKILL');
}

/** An execution environment of a function: a process that runs one invocation at a time and is frozen in between. */
export class Replica {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #onMessage: (message: Awaited) => void = () => undefined;
  #onPart: (bytes: Buffer) => void = () => undefined;

  private constructor(options: ReplicaOptions) {
    const { program, file, handlerName, memoryMb } = options;
    this.name = options.name;
    this.#child = spawn(
      process.execPath,
      [`--max-old-space-size=${memoryMb}`, '--no-warnings', program, file, handlerName],
      { cwd: options.folder, env: options.environment, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
    );
    running.add(this.#child);
    this.#ended = once(this.#child, 'close').then(() => running.delete(this.#child));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', options.onOutput);
    }
    this.#child.on('message', (message: ReplicaMessage) => {
      if (message.kind === 'part') this.#onPart(Buffer.from(message.part, 'base64'));
      else this.#onMessage(message);
    });
    // Messages to a process that has died are lost; its exit reports that.
    this.#child.on('error', () => undefined);
  }

  /** Loads the function and freezes it. @throws Error if it cannot be loaded */
  static async start(options: ReplicaOptions): Promise<Replica> {
    const replica = new Replica(options);
    const message = await replica.#message();
    if (message?.kind !== 'ready') throw new Error(`${options.name} does not start`);
    replica.#freeze();
    return replica;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Invokes the function; `onPart` takes what it streams. Fails if the process dies, or is killed after `timeoutMs`.
   */
  async invoke(invocation: Invocation, timeoutMs: number, onPart: OnPart): Promise<InvocationResult> {
    this.#onPart = onPart;
    const over = new AbortController();
    const timer = setTimeout(() => {
      over.abort();
      end(this.#child);
    }, timeoutMs);
    this.#child.kill('SIGCONT');
    this.#child.send(invocation);
    const message = await this.#message();
    clearTimeout(timer);
    switch (message?.kind) {
      case 'done':
        this.#freeze();
        return { ok: true, value: message.result };
      case 'failed':
        this.#freeze();
        return { ok: false, error: message.error };
      case 'ready':
      case undefined:
        return {
          ok: false,
          error: over.signal.aborted
            ? { errorType: 'Sandbox.Timedout', errorMessage: `Task timed out after ${timeoutMs / 1_000} seconds` }
            : { errorType: 'Runtime.ExitError', errorMessage: 'Runtime exited' },
        };
    }
  }

  /** Kills the process and returns when it has ended. */
  async kill(): Promise<void> {
    end(this.#child);
    await this.#ended;
  }

  #freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  /** Returns the next message; undefined if the process ends before. */
  #message(): Promise<Awaited | undefined> {
    return new Promise((resolve) => {
      this.#onMessage = resolve;
      void this.#ended.then(() => {
        resolve(undefined);
      });
    });
  }
}
