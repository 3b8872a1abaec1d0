// Bodies of pushes of A2A 1.0 and 0.3. Pure.

import { defined } from '../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../base/json.js';

/** What a push says. It is only a reason to read the task: nothing of it is kept. */
export interface PushedNews {
  /** Missing if the body names no task. */
  readonly taskId?: string;
  /** `working`: the task surely goes on. `other`: it may wait for input, or the news is unknown. */
  readonly says: 'working' | 'ended' | 'other';
  /** Whether the object has the wrapper of 1.0. */
  readonly isWrapped?: true;
}

/**
 * Reads the body of a push: the wrapper of 1.0 (`task`, `statusUpdate`, `artifactUpdate` or `message`), the bare object
 * of 0.3, or either in an envelope of JSON-RPC.
 */
export function readPush(body: JsonObject): PushedNews {
  const came = unwrapped(body);
  if (came === undefined) return { says: 'other' };
  const { kind, object, isWrapped } = came;
  const id = kind === 'task' ? object['id'] : object['taskId'];
  if (typeof id !== 'string') return { says: 'other' };
  return { taskId: id, says: kind === 'artifact' ? 'working' : saidBy(object), ...defined({ isWrapped }) };
}

interface Unwrapped {
  readonly kind: 'task' | 'status' | 'artifact' | 'message';
  readonly object: JsonObject;
  readonly isWrapped?: true;
}

/** Fields of the wrapper, and the kinds of bare objects, by what they hold. */
const kinds: Readonly<Record<string, Unwrapped['kind']>> = {
  task: 'task',
  statusUpdate: 'status',
  'status-update': 'status',
  artifactUpdate: 'artifact',
  'artifact-update': 'artifact',
  message: 'message',
};

/** Returns undefined if there is no known object, or more than one. */
function unwrapped(body: JsonObject): Unwrapped | undefined {
  if (body['jsonrpc'] !== undefined) {
    const { result = body['params'] } = body;
    return isJsonObject(result) && result['jsonrpc'] === undefined ? unwrapped(result) : undefined;
  }
  const { kind } = body;
  if (typeof kind === 'string') return Object.hasOwn(kinds, kind) ? known(kinds[kind], body) : undefined;
  const [wrapped, ...others] = Object.keys(kinds).filter((name) => isJsonObject(body[name]));
  if (wrapped !== undefined && others.length === 0) {
    const within = known(kinds[wrapped], body[wrapped]);
    return within === undefined ? undefined : { ...within, isWrapped: true };
  }
  // ProtoJSON, and agents of 0.3, may leave out the kind of a task.
  return wrapped === undefined && isJsonObject(body['status']) && body['id'] !== undefined
    ? { kind: 'task', object: body }
    : undefined;
}

function known(kind: Unwrapped['kind'] | undefined, object: JsonValue | undefined): Unwrapped | undefined {
  return kind !== undefined && isJsonObject(object) ? { kind, object } : undefined;
}

/** Looks the state up in the names of 0.3, 1.0 and ProtoJSON. Any other state may mean anything. */
function saidBy({ status, final }: JsonObject): PushedNews['says'] {
  const state = isJsonObject(status) ? status['state'] : undefined;
  const name = typeof state === 'string' ? state.replace(/^TASK_STATE_/, '').toLowerCase() : '';
  if (ends.includes(name)) return 'ended';
  // The last event of a stream of 0.3 says that nothing follows.
  return goesOn.includes(name) && final !== true ? 'working' : 'other';
}

const ends: readonly string[] = ['completed', 'failed', 'rejected', 'canceled', 'cancelled'];
const goesOn: readonly string[] = ['submitted', 'working'];
