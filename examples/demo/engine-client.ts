import { z } from 'zod';
import type { RunProgress } from './run-progress.js';
import { externalWaits, progressOf, runHistory, runView, waitedMsIn } from './run-progress.js';

const requestTimeoutMs = 10_000;

const functionStats = z.object({ invocations: z.number(), busyMs: z.number() });
const localStats = z.object({
  functions: z.object({ turn: functionStats, poll: functionStats, schedule: functionStats }),
});
/** Counts and durations of the functions in one process of local mode, except for those that answer HTTP. */
export type FunctionsStats = z.infer<typeof localStats>['functions'];

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
    const [run, external] = await Promise.all([
      this.#request(`/runs/${runId}`),
      this.#request(`/activities/external?run=${runId}`),
    ]);
    return progressOf(runView.parse(run), externalWaits.parse(external));
  }

  /** Returns how long the run waited for remote tasks. */
  async waitedMs(runId: string): Promise<number> {
    return waitedMsIn(runHistory.parse(await this.#request(`/runs/${runId}/history`)));
  }

  /** Returns when the end of the run's remote task became known. */
  async taskEndedAtMs(runId: string): Promise<number | undefined> {
    const { events } = runHistory.parse(await this.#request(`/runs/${runId}/history`));
    return events.find(({ type }) => type === 'TokenSettled')?.atMs;
  }

  /** Returns the figures of the functions. Only local mode has this route. */
  async functions(): Promise<FunctionsStats> {
    return localStats.parse(await this.#request('/local/stats')).functions;
  }

  async #request(path: string, init: RequestInit = {}): Promise<unknown> {
    const response = await fetch(new URL(path, this.#url), { ...init, signal: AbortSignal.timeout(requestTimeoutMs) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }
}
