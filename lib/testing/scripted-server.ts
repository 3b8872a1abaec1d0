import { storedError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { Clock, Duration, EpochMs } from '../base/time.js';
import { durationToMs } from '../base/time.js';
import type { RemoteTaskHandle } from '../history/event.js';
import type { RemoteEnd } from '../history/remote-end.js';
import type { CancelReply, PollReply, RemoteTaskTransport, StartReply, StartRequest } from '../remote/transport.js';
import type { RemoteRequest } from '../workflow/remote-request.js';

/** What a scripted server does with one call. */
export interface ScriptedTask {
  /** How long the task runs; default: it ends at once, in the reply to the start. */
  readonly after?: Duration;
  /** The result of the task. */
  readonly result?: JsonValue;
  /** MCP: the tool marks its own result as an error. */
  readonly isError?: boolean;
  /** The task fails with this text. */
  readonly failure?: string;
  /** A2A: the agent rejects the task with this text. */
  readonly rejection?: string;
  /** The start is refused with this text. */
  readonly refusal?: string;
  /** The task never ends. */
  readonly never?: boolean;
}

export interface ScriptedServerOptions {
  readonly protocol: 'mcp' | 'a2a';
  /** Answers a repeated start with the task it has. Default true. */
  readonly dedupes?: boolean;
  /** Decides what a call does. */
  readonly task: (request: RemoteRequest) => ScriptedTask;
}

interface Task {
  readonly taskId: string;
  readonly key: string;
  readonly end: RemoteEnd;
  readonly endsAtMs: EpochMs | undefined;
  cancelled: boolean;
}

/** A remote server for tests, on the clock of the test: it speaks the engine's port, not the wire. */
export class ScriptedServer implements RemoteTaskTransport {
  readonly protocol: 'mcp' | 'a2a';
  readonly dedupes: boolean;
  /** Start calls in order, each with its idempotency key. */
  readonly starts: { readonly key: string; readonly request: RemoteRequest }[] = [];
  reads = 0;
  cancels = 0;
  readonly #options: ScriptedServerOptions;
  readonly #tasks: Task[] = [];
  #name = '';
  #clock: Clock = { nowMs: () => 0 };

  constructor(options: ScriptedServerOptions) {
    this.protocol = options.protocol;
    this.dedupes = options.dedupes ?? true;
    this.#options = options;
  }

  /** @internal Called by the test app, which knows the name and the clock. */
  connect(name: string, clock: Clock): void {
    this.#name = name;
    this.#clock = clock;
  }

  problemWith(request: RemoteRequest): string | undefined {
    if ((request.kind === 'tool') === (this.protocol === 'mcp')) return undefined;
    return this.protocol === 'mcp' ? 'an MCP server has tools' : 'an A2A agent has skills and takes messages';
  }

  async start({ request, idempotencyKey }: StartRequest): Promise<StartReply> {
    this.starts.push({ key: idempotencyKey, request });
    const known = this.dedupes ? this.#tasks.find((task) => task.key === idempotencyKey) : undefined;
    if (known !== undefined) return { kind: 'started', handle: this.#handle(known) };
    const script = this.#options.task(request);
    if (script.refusal !== undefined)
      return { kind: 'refused', error: storedError('REMOTE_START_REFUSED', script.refusal) };
    const taskId = `task-${this.#tasks.length + 1}`;
    const end = this.#end(script, taskId);
    if (script.after === undefined && script.never !== true) return { kind: 'ended', end };
    const endsAtMs = script.after === undefined ? undefined : this.#clock.nowMs() + durationToMs(script.after, 'after');
    const task: Task = { taskId, key: idempotencyKey, end, endsAtMs, cancelled: false };
    this.#tasks.push(task);
    return { kind: 'started', handle: this.#handle(task) };
  }

  async get(handle: RemoteTaskHandle): Promise<PollReply> {
    this.reads++;
    const task = this.#tasks.find(({ taskId }) => taskId === handle.taskId);
    if (task === undefined)
      return { kind: 'unreadable', error: storedError('REMOTE_PROTOCOL_VIOLATION', 'no such task') };
    if (task.cancelled) {
      return {
        kind: 'ended',
        end: { kind: 'failed', error: storedError('REMOTE_TASK_CANCELLED', 'remote task cancelled') },
      };
    }
    const isOver = task.endsAtMs !== undefined && task.endsAtMs <= this.#clock.nowMs();
    return isOver ? { kind: 'ended', end: task.end } : { kind: 'working', state: 'working' };
  }

  async cancel(handle: RemoteTaskHandle): Promise<CancelReply> {
    this.cancels++;
    for (const task of this.#tasks) if (task.taskId === handle.taskId) task.cancelled = true;
    return { kind: 'done' };
  }

  #handle({ taskId }: Task): RemoteTaskHandle {
    return { server: this.#name, protocol: this.protocol, wire: 'scripted', taskId };
  }

  #end(script: ScriptedTask, taskId: string): RemoteEnd {
    if (script.rejection !== undefined) {
      return {
        kind: 'failed',
        error: storedError('REMOTE_TASK_REJECTED', `remote task failed: ${script.rejection}`, {
          server: this.#name,
          taskId,
        }),
      };
    }
    if (script.failure !== undefined) {
      return {
        kind: 'failed',
        error: storedError('REMOTE_TASK_FAILED', `remote task failed: ${script.failure}`, {
          server: this.#name,
          taskId,
        }),
      };
    }
    return { kind: 'completed', result: script.result ?? null, isError: script.isError ?? false, taskId };
  }
}

export function scriptedServer(options: ScriptedServerOptions): ScriptedServer {
  return new ScriptedServer(options);
}
