import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { RunId } from '../../base/ids.js';
import { canonicalJson, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { signalNameMaxChars } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { InboxRecord } from '../../history/records.js';
import { messageSignal } from '../../history/task-content.js';
import type { Deps } from '../deps.js';
import { admitSignal } from './tenant-admission.js';
import { checkRunId, deliver, requestIdOf, type Accepted } from './inbox.js';

/** Largest payload of a signal. */
export const signalMaxBytes = 256 * 1024;

export interface SignalRequest {
  /** 1 to 128 characters. */
  readonly name: string;
  /** At most 256 KiB. */
  readonly payload?: JsonValue;
  /** Signals of one name with the same key are deduplicated within the run. Default: a random key. */
  readonly key?: string;
}

/**
 * Sends a signal to a run. It is kept until a wait takes it; an accepted signal is in the history before the run ends.
 * A repeated key is accepted again, even after the end of the run, and has no effect.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`
 */
export async function signalRun(deps: Deps, runId: RunId, signal: SignalRequest): Promise<Accepted> {
  const record = signalRecord(deps, checkRunId(runId), signal);
  await admitSignal(deps, signal.payload);
  return deliver(deps, record);
}

/** Creates the inbox item of a signal. */
export function signalRecord(deps: Deps, runId: RunId, { name, payload, key }: SignalRequest): InboxRecord {
  checkName(name, 'the name of a signal', { maxChars: signalNameMaxChars });
  if (name === messageSignal)
    throw new EngineError(
      'INPUT_INVALID',
      `the name ${messageSignal} is for the messages of a caller of a served task`,
    );
  checkJsonBytes('the payload of the signal is', jsonBytes(payload), signalMaxBytes);
  const atMs = deps.clock.nowMs();
  // The name is part of the id, so a key is unique per name and kind of request. The length separates name and key.
  const inboxId = `signal-${name.length}-${name}-${requestIdOf(deps, key)}`;
  const content = {
    ...defined({
      payload,
      by: deps.caller?.id,
      sentDigest: key === undefined ? undefined : deps.tokens.sentDigest(`signal\n${canonicalJson(payload ?? null)}`),
    }),
  };
  return { runId, inboxId, kind: 'signal', name, ...content, atMs, dueAtMs: atMs };
}
