import type { Flow } from '../program.js';

/** The workflows that are served: `desk` by name, `chat` for messages that name no skill. */
export interface Served {
  readonly desk: Flow;
  readonly chat: Flow;
  /** Whether `desk` queues the tasks of a context too, as `chat` does. */
  readonly deskQueues: boolean;
  /** How each receiver of pushes behaves. */
  readonly receivers: readonly ReceiverKind[];
}

/**
 * `down`: answers 503 until second 150. `gone`: answers 410 from its third push on. `slow`: takes 8 s. `picky`: wants
 * every other push only. `locked`: answers 401 until second 60, and then takes everything.
 */
export type ReceiverKind = 'ok' | 'down' | 'gone' | 'slow' | 'picky' | 'locked';

/** The task that a request is about: its position among all tasks, in the order of their creation. */
type Which = number;

/** A request of a caller about a task. `foreign`: it comes from a caller whose task it is not. */
type OnTask = { readonly task: Which; readonly foreign?: true };

/** A request to what is served. */
export type ServedRequest =
  | {
      readonly what: 'task';
      /** Which of the callers. */
      readonly by: number;
      readonly skill: 'desk' | 'chat';
      /** The key of the start, which also decides its context. */
      readonly key?: string;
      readonly context?: string;
      /** The receiver that it is to be pushed to. */
      readonly push?: number;
    }
  /**
   * `names`: the message answers the question that its sender has seen, and no other one. `blocks`: its sender waits for
   * what follows.
   */
  | ({ readonly what: 'followUp'; readonly id: string; readonly names: boolean; readonly blocks: boolean } & OnTask)
  | ({ readonly what: 'cancelTask' | 'readTask' | 'awaitTask' } & OnTask)
  | { readonly what: 'listTasks'; readonly by: number }
  /**
   * Follows a task. It leaves after each of these seconds, and comes back at once with its cursor, or for a new snapshot.
   */
  | ({ readonly what: 'watch'; readonly leaves: readonly number[]; readonly from: 'cursor' | 'snapshot' } & OnTask)
  | ({ readonly what: 'putPush'; readonly id: string; readonly receiver: number } & OnTask)
  | ({ readonly what: 'dropPush'; readonly id: string } & OnTask);

const kinds: ReadonlySet<string> = new Set([
  ...['task', 'followUp', 'cancelTask', 'readTask', 'awaitTask', 'listTasks', 'watch', 'putPush', 'dropPush'],
]);

export function isServedRequest<Request extends { readonly what: string }>(
  request: Request,
): request is Request & ServedRequest {
  return kinds.has(request.what);
}

export function printServedRequest(request: ServedRequest): string {
  const { what, ...terms } = request;
  return [what, ...Object.entries(terms).flatMap(([name, value]) => termOf(name, value))].join(' ');
}

function termOf(name: string, value: unknown): readonly string[] {
  if (['at', 'after'].includes(name)) return [];
  return [`${name} ${Array.isArray(value) ? value.join(',') : String(value)}`];
}
