import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, ApiError } from './api-client.js';

const intervalMs = 300;
/** A run that another one goes on as is made by that one's last turn; the sweep repeats a turn that died, within two minutes. */
const untilThereMs = 150_000;

/** Reads what belongs to the next run of a chain, which may be a moment in coming. @throws ApiError */
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
