import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

export interface RemoteServerOptions {
  /** Port on 127.0.0.1. Default: 0, a free one. */
  readonly port?: number;
  /** Duration of a task, in milliseconds. Default: 12 s. */
  readonly taskMs?: number;
  /** Replaces the wait of `taskMs`: a task ends when this resolves. For tests that end tasks themselves. */
  readonly work?: (signal: AbortSignal) => Promise<void>;
  /** Whether it pushes news of its tasks to callers that ask for it. Default false; an MCP server does not. */
  readonly pushes?: boolean;
  /**
   * Called after a request has been carried out and before it is answered. `drop` closes the connection without an
   * answer: the caller cannot know whether it was carried out.
   */
  readonly beforeReply?: (method: string) => 'ok' | 'drop';
}

/** Requests that a server has received since it was started. Served as JSON at `GET /stats`. */
export interface RemoteStats {
  /** Every call that requested a task, repeats included, with its idempotency key. */
  readonly startCalls: readonly { readonly key?: string }[];
  /** Tasks created. */
  readonly tasks: number;
  /** Calls that read the state of a task. */
  readonly reads: number;
  readonly cancels: number;
  /** When each push about a task was sent, in milliseconds since 1970; missing if it does not push. */
  readonly pushedAtMs?: readonly number[];
}

export interface RemoteServer {
  /** The endpoint of the protocol. */
  readonly url: string;
  stats(): RemoteStats;
  /** Stops listening, cuts open connections and ends the work of all tasks. */
  close(): Promise<void>;
}

/** Returns a function that waits for the duration of a task. It rejects when the signal aborts. */
export function workOf(options: RemoteServerOptions): (signal: AbortSignal) => Promise<void> {
  const { taskMs = 12_000 } = options;
  return options.work ?? ((signal) => delay(taskMs, undefined, { signal }));
}

/**
 * Runs a server as a program: reads `--port`, `--task-ms` and `--push`, prints one line with the URL when it listens, ends on
 * SIGTERM and SIGINT. Also ends when its standard input closes, if `--with-parent` is given.
 */
export async function runAsProgram(
  name: string,
  start: (options: RemoteServerOptions) => Promise<RemoteServer>,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'task-ms': { type: 'string', default: '12000' },
      push: { type: 'boolean', default: false },
      'with-parent': { type: 'boolean', default: false },
    },
  });
  const server = await start({
    port: wholeNumber('port', values.port),
    taskMs: wholeNumber('task-ms', values['task-ms']),
    pushes: values.push,
  }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    console.error(`${name}: port ${values.port} is taken; choose another with --port, or leave it out for a free one`);
    process.exit(1);
  });
  const end = (): void => {
    void server.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  // A pipe from the parent closes however the parent dies, so no server is left running.
  if (values['with-parent']) process.stdin.resume().once('close', end);
  console.log(`${name} ready at ${server.url}`);
}

function wholeNumber(option: string, value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  console.error(`--${option} takes a whole number, not "${value}"`);
  process.exit(2);
}
