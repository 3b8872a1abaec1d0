import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { RunOutcome } from '../../lib/history/event.js';
import type { ExportedEvent } from '../../lib/operations/views/read-history.js';
import type { RunView } from '../../lib/operations/views/show-run.js';
import type { RunStatus } from '../../lib/history/records.js';

const requestTimeoutMs = 60_000;
const retryAfterMs = 200;
const concurrencyMax = 32;

export type Ended = { readonly outcome: RunOutcome };
export type ListedRun = { readonly runId: string; readonly workflow: string; readonly status: RunStatus };
export type FunctionStats = Readonly<Record<string, { readonly invocations: number }>>;

/** An answer that a retry would not change. */
export class Refused extends Error {
  readonly status: number;
  /** Whether an earlier attempt of the same request got no answer, so that this may be the answer to a repeat. */
  readonly isRepeat: boolean;

  constructor(path: string, answer: { readonly status: number; readonly text: string; readonly isRepeat: boolean }) {
    const { status, text, isRepeat } = answer;
    super(`${path} answered ${status}${isRepeat ? ' to a repeat' : ''}: ${text.slice(0, 200)}`);
    this.status = status;
    this.isRepeat = isRepeat;
  }
}

/** The management API over HTTP, across crashes: a request without an answer is repeated when the engine is back. */
export class Client {
  /** Requests that were repeated. */
  repeats = 0;
  /** Answers that report a fault of the engine, not that it is unavailable or busy. */
  readonly faults: string[] = [];
  readonly #limit = pLimit(concurrencyMax);
  readonly #url: () => Promise<string>;
  readonly #until: AbortSignal;

  /** Sends no more requests once `until` aborts. */
  constructor(url: () => Promise<string>, until: AbortSignal) {
    this.#url = url;
    this.#until = until;
  }

  async start(workflow: string, key: string, input: unknown): Promise<string> {
    return (await this.#post<{ runId: string }>('/runs', { workflow, key, input })).runId;
  }

  async signal(runId: string, name: string, key: string, payload: unknown): Promise<void> {
    await this.#post(`/runs/${runId}/signals/${name}`, { key, payload });
  }

  async pause(runId: string): Promise<void> {
    await this.#post(`/runs/${runId}/pause`);
  }

  async resume(runId: string): Promise<void> {
    await this.#post(`/runs/${runId}/resume`);
  }

  async cancel(runId: string, requestId: string): Promise<void> {
    await this.#post(`/runs/${runId}/cancel`, { requestId }).catch((error: unknown) => {
      // The earlier attempt, which got no answer, was accepted, and its run has ended.
      if (!(error instanceof Refused && error.isRepeat && error.status === 409)) throw error;
    });
  }

  /** Returns undefined while the run is in progress. */
  async result(runId: string): Promise<Ended | undefined> {
    return this.#get<Ended | undefined>(`/runs/${runId}/result`);
  }

  async show(runId: string): Promise<RunView> {
    return this.#get(`/runs/${runId}`);
  }

  async history(runId: string): Promise<readonly ExportedEvent[]> {
    return (await this.#get<{ events: readonly ExportedEvent[] }>(`/runs/${runId}/history`)).events;
  }

  async list(query: Readonly<Record<string, string>> = {}): Promise<ListedRun[]> {
    const runs: ListedRun[] = [];
    let cursor: string | undefined;
    do {
      const asked = new URLSearchParams({ ...query, limit: '100', ...(cursor === undefined ? {} : { cursor }) });
      const page = await this.#get<{ runs: ListedRun[]; cursor?: string }>(`/runs?${asked.toString()}`);
      runs.push(...page.runs);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return runs;
  }

  async functions(): Promise<FunctionStats> {
    return (await this.#get<{ functions: FunctionStats }>('/local/stats')).functions;
  }

  #get<Answer>(path: string): Promise<Answer> {
    return this.#limit(() => this.#ask<Answer>(path, {}));
  }

  #post<Answer>(path: string, body?: unknown): Promise<Answer> {
    const init = {
      method: 'POST',
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    };
    return this.#limit(() => this.#ask<Answer>(path, init));
  }

  async #ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      this.#until.throwIfAborted();
      if (attempt > 1) this.repeats++;
      const url = await this.#url();
      let status: number;
      let text: string;
      try {
        const signal = AbortSignal.any([this.#until, AbortSignal.timeout(requestTimeoutMs)]);
        const response = await fetch(new URL(path, url), { ...init, signal });
        status = response.status;
        text = await response.text();
      } catch {
        // The engine was killed meanwhile, or is too busy.
        await delay(retryAfterMs);
        continue;
      }
      if (status === 500) this.faults.push(`${path} answered 500: ${text.slice(0, 200)}`);
      if (status === 429 || status >= 500) {
        await delay(retryAfterMs);
        continue;
      }
      if (status >= 400) throw new Refused(path, { status, text, isRepeat: attempt > 1 });
      return (text === '' ? undefined : JSON.parse(text)) as Answer;
    }
  }
}
