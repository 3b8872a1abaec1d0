import { defined } from '../../base/defined.js';
import { EngineError, isUnreadable } from '../../base/errors.js';
import { late } from '../../base/late.js';
import { inputIdOf, isRunId, isWaitId, type RunId, type WaitId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { jsonBytes } from '../../base/json-limit.js';
import { historyPageBytes, inputsReadInParallel } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { InputForm } from '../../history/input-form.js';
import type { RemoteAnswer } from '../../history/remote-question.js';
import type { TokenRecord } from '../../history/records.js';
import type { Deps } from '../deps.js';
import { type Refusal, refusalOf } from './settle-token.js';
import { newSettlement, settleInTime } from '../settle-in-time.js';
import { wakeRunFor } from '../wake.js';

/** A question that waits for a person. */
export interface InputView extends InputForm {
  /** `<runId>.<waitId>`: what an answer is sent to. */
  readonly inputId: string;
  readonly runId: RunId;
  readonly sinceMs: EpochMs;
  readonly deadlineAtMs?: EpochMs;
}

export type AnswerResult = { readonly answered: true } | { readonly answered: false; readonly reason: Refusal };

/**
 * Open questions, oldest first. Read from an index: one that has just been answered may still show. `limit` 1 to 100; a
 * page of large ones ends sooner and has a next one. A question that cannot be read is left out, with a warning.
 */
export async function listInputs(
  deps: Deps,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly inputs: readonly InputView[]; readonly cursor?: string }> {
  const inputs: InputView[] = [];
  let bytes = 0;
  let next = cursor;
  for (let left = limit; left > 0 && bytes < historyPageBytes; left -= inputsReadInParallel) {
    const page = await deps.store.listInputs(Math.min(left, inputsReadInParallel), next);
    const tokens = await Promise.all(page.rows.map((row) => readableToken(deps, row)));
    const read = tokens.flatMap(toInput);
    inputs.push(...read);
    bytes += jsonBytes(read as unknown as JsonValue);
    next = page.cursor;
    if (next === undefined) break;
  }
  return { inputs, ...defined({ cursor: next }) };
}

async function readableToken(
  deps: Deps,
  { runId, waitId }: { readonly runId: RunId; readonly waitId: WaitId },
): Promise<TokenRecord | undefined> {
  try {
    return await deps.store.readToken(runId, waitId);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    deps.log.warn('question skipped: it cannot be read', { runId, waitId, code: error.code, reason: error.message });
    return undefined;
  }
}

/** @throws EngineError `INPUT_NOT_FOUND` */
export async function showInput(deps: Deps, inputId: string): Promise<InputView> {
  const [view] = toInput(await readInput(deps, inputId));
  if (view === undefined) throw notFound();
  return view;
}

/** Needed for answers with content: with it comes the check of schemas. */
export const loadAnswerContent = late(() => import('./answer-content.js'));

/**
 * Answers a question for a person, once: the first answer wins, every later one, and one of a run that has ended,
 * changes nothing and says why. The content of an accepted answer must fit the schema of the question, if that can be
 * checked in reasonable time.
 * @throws EngineError `INPUT_NOT_FOUND`; `INPUT_INVALID` with what does not fit, `PAYLOAD_TOO_LARGE`: the question stays open
 */
export async function answerInput(deps: Deps, inputId: string, answer: RemoteAnswer): Promise<AnswerResult> {
  const token = await readInput(deps, inputId);
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

async function readInput(deps: Deps, inputId: string): Promise<TokenRecord> {
  const [runId = '', waitId = '', ...rest] = inputId.split('.');
  const isId = rest.length === 0 && isRunId(runId) && isWaitId(waitId);
  const token = isId ? await deps.store.readToken(runId, waitId) : undefined;
  if (token?.form === undefined) throw notFound();
  return token;
}

function toInput(token: TokenRecord | undefined): readonly InputView[] {
  if (token?.form === undefined || token.settlement !== undefined) return [];
  const { runId, waitId, form, createdAtMs, deadlineAtMs } = token;
  return [
    {
      inputId: inputIdOf(runId, waitId),
      runId,
      ...form,
      sinceMs: createdAtMs,
      ...defined({ deadlineAtMs }),
    },
  ];
}

function notFound(): EngineError {
  return new EngineError('INPUT_NOT_FOUND', 'no question has this id');
}
