import { lazy } from '../../base/lazy.js';
import type { JsonValue } from '../../base/json.js';
import { refusalOf, type Refusal } from '../../decide/refusal.js';
import type { RemoteAnswer } from '../../history/remote-question.js';
import type { Deps } from '../deps.js';
import { readQuestion } from '../read-question.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import { wakeRunFor } from '../wake.js';

export type AnswerResult = { readonly answered: true } | { readonly answered: false; readonly reason: Refusal };

/** Loads the check of answers with content, which brings the schema validator. */
export const loadAnswerContent = lazy(() => import('./answer-content.js'));

/**
 * Answers a question to a person, once. The first answer wins; a later one, or one to a run that has ended, has no
 * effect and gets the reason. The content of an accepted answer must match the schema of the question, if that can be
 * checked in reasonable time.
 * @throws EngineError `INPUT_NOT_FOUND`; `INPUT_INVALID` with the mismatches or `PAYLOAD_TOO_LARGE`: the question stays
 * open
 */
export async function answerQuestion(deps: Deps, inputId: string, answer: RemoteAnswer): Promise<AnswerResult> {
  const token = await readQuestion(deps, inputId);
  if (token.settlement !== undefined) return { answered: false, reason: refusalOf(token) };
  if (answer.action === 'accept') {
    const { checkContent } = await loadAnswerContent();
    checkContent(token.form?.schema, answer.content);
  }
  const { runId, waitId } = token;
  const outcome = { kind: 'completed', result: answer as unknown as JsonValue, isError: false } as const;
  const settlement = newSettlement(deps, { by: 'operator', outcome });
  const { settled, timedOut, token: now } = await settleInTime(deps, token, settlement);
  if (timedOut) await wakeRunFor(deps, runId, { waitId });
  if (!settled) return { answered: false, reason: now === undefined ? 'run_ended' : refusalOf(now) };
  await wakeRunFor(deps, runId, { waitId });
  return { answered: true };
}
