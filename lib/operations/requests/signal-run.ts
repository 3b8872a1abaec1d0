import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import { canonicalJson, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { signalNameMaxChars } from '../../base/limits.js';
import { checkName } from '../../base/name.js';
import type { InboxRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { checkRunId, deliver, requestIdOf, type Accepted } from './inbox.js';

/** Payload of a signal. */
export const signalMaxBytes = 256 * 1024;

export interface SignalRequest {
  /** 1 to 128 characters. */
  readonly name: string;
  /** At most 256 KiB. */
  readonly payload?: JsonValue;
  /** Two signals of one name with the same key are one signal of the run. Default: a random one. */
  readonly key?: string;
}

/**
 * Gives a run a signal. It stays until a wait takes it; one that was accepted is in the history before the run can end.
 * A repeated key is accepted again, also after the end of the run, and changes nothing.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`
 */
export async function signalRun(deps: Deps, runId: RunId, signal: SignalRequest): Promise<Accepted> {
  return deliver(deps, signalRecord(deps, checkRunId(runId), signal));
}

/** The inbox item of a signal. */
export function signalRecord(deps: Deps, runId: RunId, { name, payload, key }: SignalRequest): InboxRecord {
  checkName(name, 'the name of a signal', { maxChars: signalNameMaxChars });
  checkJsonBytes('the payload of the signal is', jsonBytes(payload), signalMaxBytes);
  const atMs = deps.clock.nowMs();
  // A key is one signal of one name, and no other kind of request can take its place. The length keeps name and key apart.
  const inboxId = `signal-${name.length}-${name}-${requestIdOf(deps, key)}`;
  const content = {
    ...defined({
      payload,
      sentDigest: key === undefined ? undefined : deps.tokens.sentDigest(`signal\n${canonicalJson(payload ?? null)}`),
    }),
  };
  return { runId, inboxId, kind: 'signal', name, ...content, atMs, dueAtMs: atMs };
}
