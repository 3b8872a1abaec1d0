// What a client of these tests is sent, before the client has read it.

export interface Reply {
  /** Method of JSON-RPC 1.0 or 0.3 for which it came; `card` for the agent card. */
  readonly method: string;
  /** The result of a reply, or one event of a stream. */
  readonly value: unknown;
}

/** A fetch that notes what comes, and sends the credential of the client to the agent. */
export class Replies {
  readonly #origin: string;
  readonly #key: string;
  readonly #coming: Promise<readonly Reply[]>[] = [];
  readonly #methods = new Set<string>();

  constructor(origin: string, key: string) {
    this.#origin = origin;
    this.#key = key;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.url.startsWith(this.#origin)) request.headers.set('authorization', `Bearer ${this.#key}`);
    const method = await methodOf(request.clone());
    this.#methods.add(method);
    const response = await fetch(request);
    // A stream that the client leaves ends for both.
    this.#coming.push(valuesIn(method, response.clone()).catch(() => []));
    return response;
  };

  /** Methods that were called, in alphabetical order. */
  methods(): readonly string[] {
    return [...this.#methods].sort();
  }

  /** Returns what has come, once all of it is here. */
  async all(): Promise<readonly Reply[]> {
    return (await Promise.all(this.#coming)).flat();
  }
}

async function methodOf(request: Request): Promise<string> {
  const { pathname } = new URL(request.url);
  if (pathname.endsWith('agent-card.json')) return 'card';
  const [, rest] = pathname.split('/a2a/rest/');
  if (rest !== undefined) return methodOfPath(request.method, rest);
  return ((await request.json()) as { readonly method: string }).method;
}

const methodsOfPaths: readonly (readonly [RegExp, string])[] = [
  [/^POST message:send$/, 'SendMessage'],
  [/^POST message:stream$/, 'SendStreamingMessage'],
  [/^GET extendedAgentCard$/, 'GetExtendedAgentCard'],
  [/^GET tasks$/, 'ListTasks'],
  [/^POST tasks\/[^/]+:cancel$/, 'CancelTask'],
  [/^(GET|POST) tasks\/[^/]+:subscribe$/, 'SubscribeToTask'],
  [/^GET tasks\/[^/]+$/, 'GetTask'],
  [/^POST tasks\/[^/]+\/pushNotificationConfigs$/, 'CreateTaskPushNotificationConfig'],
  [/^GET tasks\/[^/]+\/pushNotificationConfigs$/, 'ListTaskPushNotificationConfigs'],
  [/^GET tasks\/[^/]+\/pushNotificationConfigs\/[^/]+$/, 'GetTaskPushNotificationConfig'],
  [/^DELETE tasks\/[^/]+\/pushNotificationConfigs\/[^/]+$/, 'DeleteTaskPushNotificationConfig'],
];

function methodOfPath(httpMethod: string, path: string): string {
  const asked = `${httpMethod} ${path}`;
  return methodsOfPaths.find(([form]) => form.test(asked))?.[1] ?? asked;
}

async function valuesIn(method: string, response: Response): Promise<readonly Reply[]> {
  if (!response.ok) return [];
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = await response.text();
  const texts = isStream ? text.split('\n').flatMap((line) => /^data: (.*)$/.exec(line)?.[1] ?? []) : [text];
  return texts.flatMap((one) => {
    const value = JSON.parse(one) as Readonly<Record<string, unknown>>;
    if (!('jsonrpc' in value)) return [{ method, value }];
    return 'result' in value ? [{ method, value: value['result'] }] : [];
  });
}
