import type { TokenRecord } from '../history/records.js';

/** The wait ended, and what it waited for may not have: it ended first, or its start came to an end afterwards. */
export function needsStop({ settlement, child, server, leftAtMs }: TokenRecord): boolean {
  const kind = settlement?.outcome.kind;
  if (settlement !== undefined && leftAtMs !== undefined) return true;
  const endedFirst = kind === 'run_ended' || kind === 'timed_out' || kind === 'abandoned';
  return endedFirst && (child !== undefined || server !== undefined);
}
