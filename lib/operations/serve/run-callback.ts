import { defined } from '../../base/defined.js';
import { isUnreadable } from '../../base/errors.js';
import { jsonBytes } from '../../base/json-limit.js';
import type { JsonValue } from '../../base/json.js';
import type { RunId } from '../../base/ids.js';
import type { RunOutcome } from '../../history/event.js';
import type { PushConfigRecord, RunCallback } from '../../history/push-config.js';
import type { RunHead } from '../../history/records.js';
import type { Push } from '../../remote/push-sender.js';
import type { Deps } from '../deps.js';
import { pushAt } from '../wake.js';
import type { OwedPush } from './owed-push.js';

/** Id of the push config that a callback becomes when its run has ended. */
export const callbackId = 'callback';
/** Largest outcome that is sent along; a larger one is read by its receiver. */
const outcomeMaxBytes = 256 * 1024;

/** Puts what is owed to the callback of a run that has ended, with a marker, if absent: it may have been sent before. */
export async function putCallback(deps: Deps, runId: RunId, { url, secret, startedRunId }: RunCallback): Promise<void> {
  const atMs = deps.clock.nowMs();
  const record: PushConfigRecord = {
    ...{ taskId: runId, configId: callbackId, createdAtMs: atMs, wire: 'callback' },
    ...{ cursor: 0, owed: 1, failures: 0, refusals: 0 },
    receiver: { url, secret, ...defined({ startedRunId }) },
  };
  const store = await deps.store.pushConfigs();
  await store.put({ ...record, dueAtMs: atMs }, true);
  await pushAt(deps, { kind: 'push', runId, configId: callbackId }, atMs);
}

/** Yields the end of a run that its callback is owed. Returns like `newsAfter`: the end is the only news, number 1. */
export async function* endOwed(
  deps: Deps,
  config: PushConfigRecord,
  cursor: number,
): AsyncGenerator<OwedPush, number | undefined> {
  if (cursor >= 1) return cursor;
  const head = await deps.store.heads.read(config.taskId);
  if (head === undefined) return undefined;
  yield {
    generation: 1,
    atMs: head.endedAtMs ?? config.createdAtMs,
    push: async () => pushOfEnd(deps, config, head),
  };
  return 1;
}

async function pushOfEnd(deps: Deps, { receiver }: PushConfigRecord, head: RunHead): Promise<Push> {
  const { runId, workflow, status, endedAtMs, id, key, tags } = head;
  const { url, secret = '', startedRunId = runId } = receiver;
  const endedAt = new Date(endedAtMs ?? deps.clock.nowMs()).toISOString();
  const data = {
    ...{ runId: startedRunId, workflow, status, endedAt },
    ...defined({ lastRunId: startedRunId === runId ? undefined : runId, id, key, tags }),
    ...defined({ outcome: await outcomeToTell(deps, runId) }),
  };
  return {
    url,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'run.ended', timestamp: endedAt, data }),
    // No dot, which the signature uses to join.
    signing: { id: `${startedRunId}_ended`, secret },
    ...defined({ allowPrivateAddresses: deps.app.callbacks?.allowPrivateAddresses }),
  };
}

/** Returns how the run ended; undefined if that is large, or cannot be read. */
async function outcomeToTell(deps: Deps, runId: RunId): Promise<RunOutcome | undefined> {
  try {
    // The last commit, or the one before it, fixed the outcome.
    const seq = await deps.store.log.readLastSeq(runId);
    const records = await deps.store.runs.readAfter(runId, Math.max(0, seq - 2), []);
    const ending = records?.commits.flatMap(({ events }) => events).find((event) => event.type === 'RunEnding');
    const outcome = ending?.outcome;
    if (outcome === undefined) return undefined;
    return jsonBytes(outcome as unknown as JsonValue) > outcomeMaxBytes ? undefined : outcome;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}
