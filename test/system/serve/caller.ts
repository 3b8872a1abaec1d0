import { sequenceExtension } from '../../../lib/base/a2a-extensions.js';
import { blocksOf, dataOf } from '../../unit/serve/a2a/agent.js';

export interface TaskJson {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly timestamp: string };
  readonly artifacts?: readonly {
    readonly artifactId: string;
    readonly parts: readonly { readonly text?: string; readonly data?: unknown }[];
  }[];
  readonly metadata?: Readonly<Record<string, { readonly generation: number }>>;
}

/** An event of a stream. */
export interface Event {
  /** State that the event shows, or `artifact`. */
  readonly kind: string;
  readonly generation: number;
  readonly isSnapshot: boolean;
}

interface Asked {
  readonly idempotencyKey?: string;
}

/** Calls served workflows in A2A 1.0 over JSON-RPC, with the sequence extension, at whichever URL it is told. */
export class Caller {
  readonly #key: string;
  #messages = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** @throws Error with the code of the answer, or that of the connection */
  async call<Result>(url: string, method: string, params: object, asked: Asked = {}): Promise<Result> {
    const response = await this.#post(url, { method, params, asked });
    const { result, error } = (await response.json()) as {
      readonly result?: Result;
      readonly error?: { readonly code: number; readonly message: string };
    };
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
    return result!;
  }

  /** Sends a message and returns the task, as it is at once. */
  async send(url: string, parts: readonly object[], more: Sent = {}): Promise<TaskJson> {
    const { idempotencyKey, messageId = `m-${++this.#messages}`, ...message } = more;
    const params = {
      message: { messageId, role: 'ROLE_USER', parts, ...message },
      configuration: { returnImmediately: true },
    };
    const asked = idempotencyKey === undefined ? {} : { idempotencyKey };
    return (await this.call<{ readonly task: TaskJson }>(url, 'SendMessage', params, asked)).task;
  }

  read(url: string, id: string): Promise<TaskJson> {
    return this.call(url, 'GetTask', { id });
  }

  cancel(url: string, id: string): Promise<TaskJson> {
    return this.call(url, 'CancelTask', { id });
  }

  /** Follows a task, from a snapshot on or from what came after an event. Ends with the stream, however that ends. */
  async *follow(url: string, id: string, afterGeneration?: number): AsyncGenerator<Event> {
    const cursor = afterGeneration === undefined ? {} : { afterGeneration };
    const response = await this.#post(url, { method: 'SubscribeToTask', params: { id, ...cursor }, asked: {} });
    if (!response.headers.get('content-type')!.startsWith('text/event-stream')) throw new Error(await response.text());
    const blocks = blocksOf(response);
    try {
      for (;;) {
        const block = await blocks.next().catch(() => undefined);
        if (block === undefined) return;
        const event = dataOf(block);
        if (event !== undefined) yield eventOf(event['result']);
      }
    } finally {
      await blocks.leave().catch(() => undefined);
    }
  }

  #post(
    url: string,
    { method, params, asked }: { readonly method: string; readonly params: object; readonly asked: Asked },
  ): Promise<Response> {
    return fetch(`${url}/a2a`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        'a2a-extensions': sequenceExtension,
        authorization: `Bearer ${this.#key}`,
        ...(asked.idempotencyKey === undefined ? {} : { 'idempotency-key': asked.idempotencyKey }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'q', method, params }),
    });
  }
}

interface Sent {
  readonly idempotencyKey?: string;
  readonly messageId?: string;
  readonly taskId?: string;
  readonly contextId?: string;
}

export function generationOf({ metadata }: Pick<TaskJson, 'metadata'>): number {
  return metadata?.[sequenceExtension]?.generation ?? 0;
}

function eventOf(result: unknown): Event {
  const [[name, value]] = Object.entries(result as Readonly<Record<string, TaskJson>>) as [[string, TaskJson]];
  return {
    kind: name === 'artifactUpdate' ? 'artifact' : value.status.state.replace('TASK_STATE_', '').toLowerCase(),
    generation: generationOf(value),
    isSnapshot: name === 'task',
  };
}
