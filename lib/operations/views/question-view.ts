import { defined } from '../../base/defined.js';
import { inputIdOf, type RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { Question } from '../../history/question.js';
import type { TokenRecord } from '../../history/records.js';

/** A question to a person. */
export interface QuestionView extends Question {
  /** `<runId>.<waitId>`: where an answer is sent. */
  readonly inputId: string;
  readonly runId: RunId;
  readonly sinceMs: EpochMs;
  readonly deadlineAtMs?: EpochMs;
}

/** Returns the question of a token if it is an open one. */
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
