// Caps on what callers of served workflows may do: `serve.limits`, and `maxLive` of skills. Only what is configured costs
// anything.

import { EngineError } from '../../base/errors.js';
import type { Cap } from '../../store/run-store.js';
import type { ServeConfig } from '../../workflow/serve.js';
import type { Deps } from '../deps.js';

const perMinuteDefault = 60;
const turnsPerContextDefault = 100;

/**
 * Returns the counters that the start of a task increments, each with its cap; undefined if there are none. Their names
 * are stored.
 */
export function capsOf(
  deps: Pick<Deps, 'caller' | 'digest'>,
  { limits, skills = {} }: ServeConfig,
  { workflow, contextId }: { readonly workflow: string; readonly contextId: string },
): readonly Cap[] | undefined {
  const skill = Object.hasOwn(skills, workflow) ? skills[workflow] : undefined;
  const caps: Cap[] = [];
  if (limits?.maxLive !== undefined)
    caps.push({ counter: `caller ${callerDigest(deps)}`, of: 'live', max: limits.maxLive });
  if (skill?.maxLive !== undefined) caps.push({ counter: `skill ${workflow}`, of: 'live', max: skill.maxLive });
  if (limits !== undefined) {
    const max = limits.turnsPerContext ?? turnsPerContextDefault;
    caps.push({ counter: `context ${callerDigest(deps, contextId)}`, of: 'turns', max });
  }
  return caps.length === 0 ? undefined : caps;
}

/** Returns the counters that a run of the task holds until it ends. */
export function countersOf(caps: readonly Cap[] | undefined): readonly string[] | undefined {
  const counters = caps?.filter(({ of }) => of === 'live').map(({ counter }) => counter) ?? [];
  return counters.length === 0 ? undefined : counters;
}

/**
 * Takes one of the messages that a caller has in this minute, before anything is written. A process leases them in blocks.
 * @throws EngineError `TOO_MANY_REQUESTS` (details: limit, max, retryAfterMs)
 */
export async function admitMessage(deps: Deps, { limits }: ServeConfig): Promise<void> {
  if (limits === undefined) return;
  const perMinute = limits.perMinute ?? perMinuteDefault;
  const atMs = deps.clock.nowMs();
  const { messages } = await deps.store.callers();
  if (await messages.take(`caller ${callerDigest(deps)}`, { atMs, perMinute })) return;
  throw new EngineError('TOO_MANY_REQUESTS', `the limit of messages in a minute (${perMinute}) is reached`, {
    details: { limit: 'perMinute', max: perMinute, retryAfterMs: 60_000 - (atMs % 60_000) },
  });
}

/** Returns a digest of the caller, or of something of its own: equal ids in two tenants are different callers. */
export function callerDigest({ caller, digest }: Pick<Deps, 'caller' | 'digest'>, own = ''): string {
  return digest(JSON.stringify([caller?.tenant ?? null, caller?.id ?? null, own])).slice(0, 32);
}
