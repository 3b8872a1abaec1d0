import { remoteKeyOf, type RunId } from '../base/ids.js';
import type { StartRemoteTask } from './command.js';
import type { RunFacts } from './run-facts.js';

/** Returns the idempotency key of a call, which is the same on every attempt. */
export function callKeyOf(
  { digest }: Pick<RunFacts, 'digest'>,
  runId: RunId,
  { waitId, key }: Pick<StartRemoteTask, 'waitId' | 'key'>,
): string {
  return key ?? remoteKeyOf(runId, waitId, digest);
}
