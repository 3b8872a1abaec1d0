import { storedError, type StoredError } from '../../base/errors.js';
import type { StartRemoteTask } from '../../replay/command.js';
import { recordHandle } from './record-handle.js';
import { callKeyOf } from '../../replay/call-key.js';
import { failAsAmbiguous, type StartAttempt, type StartResult } from './start-attempt.js';

/** Delays before a server is asked for the task of a lost start: it may still be creating the task. */
const startProbeDelaysMs: readonly number[] = [2_000, 8_000, 30_000];

/** Handles a start of unknown fate that must not be repeated: looks for its task if the server can be asked for it. */
export async function lostStart(attempt: StartAttempt, why: StoredError): Promise<StartResult> {
  return attempt.target.mayLook ? lookLater(attempt, 1, why) : failHelpless(attempt, why);
}

/** Creates the reason for a start of unknown fate whose process is gone. */
export function ownerGone({ server }: StartRemoteTask): StoredError {
  return storedError('REMOTE_START_AMBIGUOUS', 'the process that started it is gone', { server });
}

/** Asks the server for the task of a start of unknown fate. Never starts one instead: the start may still arrive. */
export async function lookForTask(attempt: StartAttempt, look: number): Promise<StartResult> {
  const { deps, start, target, token } = attempt;
  const { runId, wait, command, persist } = start;
  const { transport } = target;
  const { request, server } = command;
  const reply =
    request.kind === 'attach'
      ? undefined
      : await transport.find?.({ request, idempotencyKey: callKeyOf(deps, runId, command) });
  deps.log.info('server asked for the task of a start of unknown fate', { runId, server, look, found: reply?.kind });
  if (reply?.kind === 'found') {
    const task = { runId, wait, command, transport, isFoundAgain: true, token, persist };
    return { token: await recordHandle(deps, task, reply, { found: true }) };
  }
  if (reply?.kind === 'unsupported') return failHelpless(attempt, reply.error);
  const why =
    reply?.kind === 'unknown'
      ? reply.error
      : storedError('REMOTE_START_AMBIGUOUS', reply?.note ?? 'the server says that it has no task for this start');
  if (look < startProbeDelaysMs.length) return lookLater(attempt, look + 1, why);
  const cause = `${why.message}, asked ${look} times). It was not started again, since a start may still be on its way`;
  return failAsAmbiguous(attempt, cause);
}

function lookLater({ deps, start, number, token }: StartAttempt, look: number, error: StoredError): StartResult {
  const atMs = deps.clock.nowMs();
  const lookAtMs = atMs + (startProbeDelaysMs[look - 1] ?? 0);
  const { waitId } = start.wait;
  return { token, attempted: { type: 'RemoteTaskStartLost', atMs, waitId, attempt: number, error, look, lookAtMs } };
}

/** Fails the wait: neither a repeat nor a look tells what came of the start. */
async function failHelpless(attempt: StartAttempt, why: StoredError): Promise<StartResult> {
  const { helps } = attempt.target;
  const help = helps === undefined ? '' : `. What helps: ${helps}`;
  const cause = `${why.message}). It was not started again, since the server is not known to recognise a repeat${help}`;
  return failAsAmbiguous(attempt, cause);
}
