import { defined } from '../base/defined.js';
import type { Problem } from '../http/problem.js';
import { CliError, exitCodes } from './cli-error.js';
import { type CredentialFlags, withCredential } from './credential.js';

const requestTimeoutMs = 30_000;

/** Thrown if the engine refused the request or did not answer. */
export class ApiError extends CliError {
  /** HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** Code of the refusal, if the engine gave one. */
  readonly code: string | undefined;

  constructor(message: string, status: number | undefined, asJson: object | undefined, code?: string) {
    super(message, exitCodes.failed, asJson);
    this.status = status;
    this.code = code;
  }

  /** Whether a retry may help: the engine may be restarting. */
  get isPassing(): boolean {
    return this.status === undefined || this.status === 503;
  }
}

/** Client of the management API of a running engine. */
export class ApiClient {
  readonly #url: string;
  readonly #asJson: boolean;
  readonly #flags: CredentialFlags;
  readonly #maxMs: number;

  /** `maxMs`: longest time for a request; default 30 s. */
  constructor(options: { readonly url: string; readonly json?: boolean; readonly maxMs?: number } & CredentialFlags) {
    this.#maxMs = options.maxMs ?? requestTimeoutMs;
    this.#flags = options;
    this.#url = options.url;
    this.#asJson = options.json ?? false;
  }

  /** @throws ApiError */
  async get<Answer>(path: string): Promise<Answer> {
    return (await this.#ask('GET', path, undefined)) as Answer;
  }

  /** @throws ApiError */
  async post<Answer>(path: string, body: object): Promise<Answer> {
    return (await this.#ask('POST', path, body)) as Answer;
  }

  async #ask(method: 'GET' | 'POST', path: string, body: object | undefined): Promise<unknown> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json',
      ...defined({ 'content-type': sent === undefined ? undefined : 'application/json' }),
    };
    const request = await withCredential(
      { method, url: this.#url + path, headers, body: sent },
      this.#flags,
      process.env,
    );
    let response: Response;
    let text: string;
    try {
      response = await fetch(request.url, {
        method,
        headers: request.headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(this.#maxMs),
        ...defined({ body: sent }),
      });
      text = await response.text();
    } catch (error) {
      throw this.#error('UNREACHABLE', problemWithReach(this.#url, error, 'OUTWAIT_URL'), undefined);
    }
    const answer = fromJson(text);
    if (response.ok && answer !== undefined) return answer;
    const problem = (answer as Partial<Problem> | undefined)?.error;
    if (problem === undefined)
      throw this.#error(
        'NOT_OUTWAIT',
        `${this.#url} is not an outwait engine (HTTP ${response.status})`,
        response.status,
      );
    throw new ApiError(
      `${problem.message} (${problem.code})`,
      response.status,
      this.#asJson ? { error: problem } : undefined,
    );
  }

  #error(code: string, message: string, status: number | undefined): ApiError {
    return new ApiError(message, status, this.#asJson ? { error: { code, message } } : undefined);
  }
}

/** Returns why `fetch` got no answer from an engine; `variable` is what else sets its URL. */
export function problemWithReach(url: string, error: unknown, variable: string): string {
  return isBadPort(error)
    ? `fetch refuses the port of ${url}; start outwait dev on another one with --port`
    : `no answer from ${url}; is outwait dev running? (set another URL with --url or ${variable})`;
}

/** Returns true for a port of another protocol, such as 6000, that `fetch` refuses (Fetch standard, section 2.9). */
function isBadPort(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === 'bad port';
}

/** Returns the object of a JSON text; undefined for anything else. */
export function fromJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
