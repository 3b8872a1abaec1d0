import { durationToMs, type Duration } from '../base/time.js';

const defaultMs = 3_600_000;
/** Changes of a message may be recorded as seldom as a task is read. */
const minMs = 600_000;

/** Returns after how long without a change a task of a server is stale. */
export function staleAfterMs(server: { readonly staleAfter?: Duration } | undefined): number {
  return server?.staleAfter === undefined ? defaultMs : durationToMs(server.staleAfter, 'staleAfter');
}

/** Returns what is wrong with the option, if anything. */
export function problemWithStaleAfter(staleAfter: Duration | undefined): string | undefined {
  if (staleAfter === undefined) return undefined;
  try {
    return durationToMs(staleAfter, 'staleAfter') >= minMs ? undefined : 'staleAfter must be at least 10 minutes';
  } catch (error) {
    return error instanceof Error ? error.message : 'staleAfter must be a duration';
  }
}
