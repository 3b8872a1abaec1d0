import { sequenceExtension, idempotentSendExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { eventStream } from '../../remote/http/event-stream.js';
import { type CredentialFlags, withCredential } from '../credential.js';
import { ApiError, fromJson, problemWithReach } from '../api-client.js';

const requestTimeoutMs = 30_000;

/** Environment variable with the URL under which a deployment serves, which is not that of its management API. */
export const serveUrlVariable = 'OUTWAIT_SERVE_URL';

/** A message to an agent: to a skill, or to a task. */
export interface OutgoingSend {
  readonly params: JsonObject;
  /** Skill whose endpoint takes the message. Default: the endpoint of the whole agent. */
  readonly skill?: string;
  readonly idempotencyKey?: string;
}

/** Client of served workflows over A2A 1.0 (JSON-RPC), with the generations of tasks. */
export class AgentClient {
  readonly #url: string;
  readonly #asJson: boolean;
  readonly #flags: CredentialFlags;

  constructor(options: { readonly url: string; readonly json?: boolean } & CredentialFlags) {
    this.#flags = options;
    this.#url = options.url;
    this.#asJson = options.json ?? false;
  }

  /** Returns the card of the agent, or of one skill. @throws ApiError */
  async card(skill?: string): Promise<JsonObject> {
    const response = await this.#fetch(`${pathOf(skill)}/.well-known/agent-card.json`, {});
    const answer = await this.#read(response);
    if (response.ok && answer !== undefined) return answer as JsonObject;
    throw this.#refusal(response, answer);
  }

  /** Sends a message and returns the task as it is at once. @throws ApiError */
  async send({ params, skill, idempotencyKey }: OutgoingSend): Promise<JsonObject> {
    const configuration = { ...(params['configuration'] as JsonObject | undefined), returnImmediately: true };
    const headers = defined({ 'idempotency-key': idempotencyKey });
    const { task } = await this.#call('SendMessage', { ...params, configuration }, { skill, headers });
    return isJsonObject(task) ? task : {};
  }

  /** @throws ApiError */
  async task(taskId: string): Promise<JsonObject> {
    return this.#call('GetTask', { id: taskId }, {});
  }

  /**
   * Yields what came to a task after a generation, each as a StreamResponse, until the stream ends or breaks.
   * @throws ApiError if there is no stream, or its last event is an error
   */
  async *follow(taskId: string, afterGeneration: number, signal: AbortSignal): AsyncGenerator<JsonObject, undefined> {
    const response = await this.#post('SubscribeToTask', { id: taskId, afterGeneration }, { signal });
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      this.#result(response, await this.#read(response));
      return undefined;
    }
    const texts: string[] = [];
    const take = eventStream((data) => texts.push(data));
    const decoder = new TextDecoder();
    for await (const bytes of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      take(decoder.decode(bytes, { stream: true }));
      for (const text of texts.splice(0)) yield this.#result(response, fromJson(text));
    }
    return undefined;
  }

  async #call(method: string, params: JsonObject, options: Omit<PostOptions, 'signal'>): Promise<JsonObject> {
    const response = await this.#post(method, params, options);
    return this.#result(response, await this.#read(response));
  }

  async #post(method: string, params: JsonObject, { skill, headers = {}, signal }: PostOptions): Promise<Response> {
    return this.#fetch(`${pathOf(skill)}/a2a`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'a2a-extensions': `${sequenceExtension}, ${idempotentSendExtension}`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      ...defined({ signal }),
    });
  }

  async #fetch(path: string, init: SentRequest): Promise<Response> {
    const { method = 'GET', body } = init;
    const headers = { 'a2a-version': '1.0', ...init.headers };
    const request = await withCredential({ method, url: this.#url + path, headers, body }, this.#flags, process.env);
    try {
      return await fetch(request.url, {
        signal: AbortSignal.timeout(requestTimeoutMs),
        ...init,
        redirect: 'manual',
        headers: request.headers,
      });
    } catch (error) {
      throw this.#error('UNREACHABLE', problemWithReach(this.#url, error, serveUrlVariable), undefined);
    }
  }

  async #read(response: Response): Promise<object | undefined> {
    try {
      return fromJson(await response.text());
    } catch (error) {
      throw this.#error('UNREACHABLE', problemWithReach(this.#url, error, serveUrlVariable), undefined);
    }
  }

  #result(response: Response, answer: object | undefined): JsonObject {
    const result = (answer as { readonly result?: JsonValue } | undefined)?.result;
    if (isJsonObject(result)) return result;
    throw this.#refusal(response, answer);
  }

  #refusal({ status }: Response, answer: object | undefined): ApiError {
    const error = (answer as { readonly error?: JsonValue } | undefined)?.error;
    const code = isJsonObject(error) ? codeOf(error) : undefined;
    if (!isJsonObject(error) || code === undefined)
      return this.#error('NOT_SERVED', `${this.#url} serves no workflows (HTTP ${status})`, status);
    const message = typeof error['message'] === 'string' ? error['message'] : 'the request was refused';
    return this.#error(code, message, status);
  }

  #error(code: string, message: string, status: number | undefined): ApiError {
    return new ApiError(`${message} (${code})`, status, this.#asJson ? { error: { code, message } } : undefined, code);
  }
}

interface SentRequest {
  readonly method?: 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

interface PostOptions {
  readonly skill?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function pathOf(skill: string | undefined): string {
  return skill === undefined ? '' : `/agents/${encodeURIComponent(skill)}`;
}

/** Returns our code of an error, or else the reason that the protocol gives it; both are in its details. */
function codeOf({ data, details = data }: JsonObject): string | undefined {
  const all = Array.isArray(details) ? (details as readonly JsonValue[]).filter(isJsonObject) : [];
  const info = all.find(({ reason }) => typeof reason === 'string');
  const { code = info?.['reason'] } = isJsonObject(info?.['metadata']) ? info['metadata'] : {};
  return typeof code === 'string' ? code : undefined;
}
