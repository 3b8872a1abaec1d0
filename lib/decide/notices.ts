// Notices about a question: when each is due, and what follows an attempt to send one.
//
// N1  The token item has the schedule of its notices, put with it; its marker is due no later than the next of them.
// N2  A worker claims what is due with a conditional write before it sends anything, and only if there is no settlement:
//     after an answer, nothing is sent that was not already claimed. The claim says when to send again, in case the
//     worker dies.
// N3  A notice counts as taken by a later write. A worker that dies in between leaves it to be sent again, with the same
//     id: each notice is sent at least once while its question is open and its receiver can be reached.
// N4  The lines of two addressees are independent. A receiver that cannot be reached delays only its own line.

import { defined } from '../base/defined.js';
import type { EpochMs } from '../base/time.js';
import { toCaller, type AddressedQuestion, type NoticeLine, type Notices } from '../history/question.js';
import type { TokenRecord } from '../history/records.js';

/** Most reminders of one addressee. */
export const remindersMax = 20;
/** How long one notice is tried; afterwards it is given up, and the next reminder is a new attempt. */
const noticeTriedForMs = 86_400_000;
/** Wait before the second attempt, longer than an attempt takes; doubled for each further one, up to an hour. */
const retryFirstMs = 30_000;
const retryMaxMs = 3_600_000;

/** Result of an attempt to send. `gone`: the receiver wants no more notices. */
export interface Delivered {
  readonly kind: 'taken' | 'gone' | 'failed';
  /** Wait that the receiver asks for. */
  readonly retryAfterMs?: number;
}

/** Returns the schedule of the notices about a new question; undefined if nobody is told. */
export function noticesOf(
  { to, escalate }: AddressedQuestion,
  asked: { readonly byDefault: string | undefined; readonly workflow: string; readonly atMs: EpochMs },
): Notices | undefined {
  const { byDefault, workflow, atMs } = asked;
  // The caller of a served task sees its questions in the task.
  const first = to === toCaller ? undefined : (to ?? byDefault);
  const lines: NoticeLine[] = [];
  if (first !== undefined) lines.push({ to: first, ...fresh, dueAtMs: atMs });
  if (escalate !== undefined)
    lines.push({ to: escalate.to, escalated: true, ...fresh, dueAtMs: atMs + escalate.afterMs });
  return lines.length === 0 ? undefined : { workflow, lines };
}

const fresh = { number: 0, tries: 0, taken: 0 } as const;

/**
 * Returns the marker of a question: its next notice or, if that is earlier or there is none, its deadline. Undefined if
 * there is neither.
 */
export function noticesDueAtMs({ lines }: Notices, deadlineAtMs: EpochMs | undefined): EpochMs | undefined {
  const dueAtMs = Math.min(...lines.map((line) => line.dueAtMs ?? Infinity), deadlineAtMs ?? Infinity);
  return dueAtMs === Infinity ? undefined : dueAtMs;
}

/** Whether the current notice of a line is to be sent now. */
export function isDue({ dueAtMs }: NoticeLine, nowMs: EpochMs): boolean {
  return dueAtMs !== undefined && dueAtMs <= nowMs;
}

/** Returns the lines with an attempt claimed for each that is due. `fraction`: random, in [0, 1). */
export function claimed({ workflow, lines }: Notices, nowMs: EpochMs, fraction: number): Notices {
  return {
    workflow,
    lines: lines.map((line) => {
      if (!isDue(line, nowMs)) return line;
      const waitMs = Math.min(retryFirstMs * 2 ** line.tries, retryMaxMs);
      return {
        ...line,
        tries: line.tries + 1,
        sinceMs: line.sinceMs ?? nowMs,
        dueAtMs: nowMs + Math.ceil(waitMs * (1 + fraction / 4)),
      };
    }),
  };
}

/** Returns a line after an attempt to send its current notice. */
export function after(
  line: NoticeLine,
  delivered: Delivered,
  { nowMs, remindAfterMs }: { readonly nowMs: EpochMs; readonly remindAfterMs: number | undefined },
): NoticeLine {
  const { dueAtMs, sinceMs = nowMs, ...rest } = line;
  if (delivered.kind === 'gone') return { ...rest, sinceMs, refused: true };
  const next = line.number + 1;
  const nextAtMs = remindAfterMs === undefined || next > remindersMax ? undefined : nowMs + remindAfterMs;
  if (delivered.kind === 'taken')
    return {
      ...rest,
      number: next,
      tries: 0,
      taken: line.taken + 1,
      takenAtMs: nowMs,
      ...defined({ dueAtMs: nextAtMs }),
    };
  if (isGivenUp(line, nowMs)) return { ...rest, number: next, tries: 0, ...defined({ dueAtMs: nextAtMs }) };
  return { ...rest, sinceMs, dueAtMs: Math.max(dueAtMs ?? nowMs, nowMs + (delivered.retryAfterMs ?? 0)) };
}

/** Whether the current notice of a line has been tried for a day. */
export function isGivenUp({ sinceMs }: NoticeLine, nowMs: EpochMs): boolean {
  return sinceMs !== undefined && nowMs - sinceMs >= noticeTriedForMs;
}

/** Returns the id of the current notice of a line: the same for each attempt. No dot, which signatures use to join. */
export function noticeIdOf(
  { runId, waitId }: Pick<TokenRecord, 'runId' | 'waitId'>,
  at: number,
  line: NoticeLine,
): string {
  return `${runId}_${waitId}_${at}_${line.number}`;
}
