import { defined } from '../../base/defined.js';
import { inputIdOf } from '../../base/ids.js';
import { cutUtf8, utf8Bytes } from '../../base/json.js';
import type { AddressedQuestion, NoticeLine, Notices } from '../../history/question.js';
import type { TokenRecord } from '../../history/records.js';
import { noticeIdOf } from '../../decide/notices.js';
import type { NoticeMessage } from '../../remote/messenger.js';
import { linkTo, type People } from '../../workflow/people.js';

/** Most bytes of the question in a notice; the page behind the link shows all of it. */
const questionMaxBytes = 1_000;
const ellipsis = '…';
/** Control characters except the line feed, and characters that reorder text. */
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** A question whose people are told. */
export type ToldToken = TokenRecord & { readonly form: AddressedQuestion; readonly notices: Notices };

/** What links are made of. */
interface LinkBase {
  readonly people: People;
  readonly publicUrl: string | undefined;
}

/**
 * Returns the current notice of a line. Its text is that of the workflow or, for a question of a remote server, of that
 * server: it is cut and plain, and receivers must treat it as text. It never holds a token or a payload.
 */
export function messageOf(token: ToldToken, at: number, line: NoticeLine, base: LinkBase): NoticeMessage {
  const { runId, waitId, form, notices, createdAtMs, deadlineAtMs } = token;
  const inputId = inputIdOf(runId, waitId);
  const question = shortened(form.message.replace(controls, ' '));
  const link = linkTo(base.people, inputId, base.publicUrl);
  const deadlineAt = deadlineAtMs === undefined ? undefined : iso(deadlineAtMs);
  const data = {
    inputId,
    question,
    to: line.to,
    workflow: notices.workflow,
    runId,
    askedAt: iso(createdAtMs),
    reminder: line.number,
    ...defined({ server: form.server, deadlineAt, link }),
  };
  const subject = `${line.number === 0 ? 'Question' : 'Reminder: question'} of ${notices.workflow}`;
  const lines = [
    `The workflow "${notices.workflow}" asks${form.server === undefined ? '' : `, for the server "${form.server}"`}:`,
    `\n${question}\n`,
    link === undefined ? `Answer it under the id ${inputId}.` : `Answer: ${link}`,
    ...(deadlineAt === undefined ? [] : [`Until: ${deadlineAt}`]),
    `Run: ${runId}`,
  ];
  return {
    id: noticeIdOf(token, at, line),
    body: JSON.stringify({ type: typeOf(line), timestamp: iso(createdAtMs), data }),
    text: lines.join('\n'),
    // SNS takes ASCII of at most 99 characters; the names of workflows are shorter.
    subject: subject.slice(0, 99),
  };
}

function shortened(text: string): string {
  const isWhole = utf8Bytes(text) <= questionMaxBytes;
  return isWhole ? text : `${cutUtf8(text, questionMaxBytes - utf8Bytes(ellipsis))}${ellipsis}`;
}

function typeOf({ number, escalated }: NoticeLine): string {
  if (number > 0) return 'question.reminder';
  return escalated === true ? 'question.escalated' : 'question.asked';
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
