import { z } from 'zod';
import type { RunProgress } from './run-progress.js';
import { progressOf, runHistory } from './run-progress.js';

const requestTimeoutMs = 10_000;

/** The management API of a running engine. */
export class EngineClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** Starts a run and returns its id. */
  async start(workflow: string, input: unknown): Promise<string> {
    const reply = await this.#request('/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ workflow, input }),
    });
    return z.object({ runId: z.string() }).parse(reply).runId;
  }

  async progress(runId: string): Promise<RunProgress> {
    return progressOf(runHistory.parse(await this.#request(`/runs/${runId}/history`)).events);
  }

  async #request(path: string, init: RequestInit = {}): Promise<unknown> {
    const response = await fetch(new URL(path, this.#url), { ...init, signal: AbortSignal.timeout(requestTimeoutMs) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }
}
