import { defined } from '../../base/defined.js';
import { inputIdOf, type RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { Question } from '../../history/question.js';
import type { TokenRecord } from '../../history/records.js';

/** A question that waits for a person. */
export interface QuestionView extends Question {
  /** `<runId>.<waitId>`: what an answer is sent to. */
  readonly inputId: string;
  readonly runId: RunId;
  readonly sinceMs: EpochMs;
  readonly deadlineAtMs?: EpochMs;
}

/** The question of a token, if that is an open one. */
export function toInputViews(token: TokenRecord | undefined): readonly QuestionView[] {
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
