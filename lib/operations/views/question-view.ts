import { defined } from '../../base/defined.js';
import { inputIdOf, type RunId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { AddressedQuestion, NoticeLine } from '../../history/question.js';
import type { TokenRecord } from '../../history/records.js';

/** A question to a person. */
export interface QuestionView extends AddressedQuestion {
  /** `<runId>.<waitId>`: where an answer is sent. */
  readonly inputId: string;
  readonly runId: RunId;
  readonly sinceMs: EpochMs;
  readonly deadlineAtMs?: EpochMs;
  /** Who is told of the question, the first addressee first. Missing if nobody is. */
  readonly addressees?: readonly AddresseeView[];
}

/** An addressee of a question. */
export interface AddresseeView {
  readonly to: string;
  /** Number of notices that the receiver took: none yet, or none any more if it cannot be reached. */
  readonly told: number;
  readonly lastToldAtMs?: EpochMs;
  /** When the next notice is due. Missing: there is none. */
  readonly nextAtMs?: EpochMs;
}

/** Returns the question of a token if it is an open one. */
export function toInputViews(token: TokenRecord | undefined): readonly QuestionView[] {
  if (token?.form === undefined || token.settlement !== undefined) return [];
  const { runId, waitId, form, createdAtMs, deadlineAtMs, notices } = token;
  return [
    {
      inputId: inputIdOf(runId, waitId),
      runId,
      ...form,
      sinceMs: createdAtMs,
      ...defined({ deadlineAtMs, addressees: notices?.lines.map(toAddressee) }),
    },
  ];
}

function toAddressee({ to, taken, takenAtMs, dueAtMs }: NoticeLine): AddresseeView {
  return { to, told: taken, ...defined({ lastToldAtMs: takenAtMs, nextAtMs: dueAtMs }) };
}
