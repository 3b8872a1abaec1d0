import type { TokenRecord } from '../history/records.js';

/**
 * Returns true if the wait ended but its task or child may still run: the wait ended first, or its start succeeded
 * later.
 */
export function needsStop({ settlement, child, server, leftAtMs }: TokenRecord): boolean {
  const kind = settlement?.outcome.kind;
  if (settlement !== undefined && leftAtMs !== undefined) return true;
  const endedFirst = kind === 'run_ended' || kind === 'timed_out' || kind === 'abandoned';
  return endedFirst && (child !== undefined || server !== undefined);
}
