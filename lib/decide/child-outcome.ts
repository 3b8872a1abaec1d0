import { storedError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import type { RunOutcome } from '../history/event.js';
import type { RunHead } from '../history/records.js';
import type { TokenOutcome } from '../history/settlement.js';

/** Returns the outcome with which the end of a child settles the wait of its parent. */
export function childOutcome({ runId, workflow }: RunHead, outcome: RunOutcome): TokenOutcome {
  if (outcome.status === 'completed') return { kind: 'completed', result: outcome.result ?? null, isError: false };
  const why = outcome.status === 'failed' ? `: ${outcome.error.message}` : '';
  const details: Record<string, JsonValue> = { childRunId: runId, status: outcome.status };
  if (outcome.status === 'failed') details['error'] = outcome.error as unknown as JsonValue;
  return { kind: 'failed', error: storedError('CHILD_FAILED', `child "${workflow}" ${outcome.status}${why}`, details) };
}
