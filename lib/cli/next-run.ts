import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, ApiError } from './api-client.js';

const intervalMs = 300;
/**
 * Longest wait for the next run of a chain: the last turn of a run creates it, and the sweep repeats a dead turn in two
 * minutes.
 */
const untilThereMs = 150_000;

/** Reads data of the next run of a chain, which may not exist yet for a moment. @throws ApiError */
export async function getWhenThere<Answer>(client: ApiClient, path: string): Promise<Answer> {
  const sinceMs = performance.now();
  for (;;) {
    try {
      return await client.get<Answer>(path);
    } catch (error) {
      const mayCome = error instanceof ApiError && error.status === 404 && performance.now() - sinceMs < untilThereMs;
      if (!mayCome) throw error;
    }
    await sleep(intervalMs);
  }
}
