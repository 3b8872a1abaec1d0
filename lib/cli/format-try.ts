// Output of `outwait try`, for a person.

import { cutUtf8 } from '../base/json.js';
import type { CallNews, TriedCall } from '../remote/try/call.js';
import type { ServerLook } from '../remote/try/findings.js';
import type { WireEvent } from '../remote/try/wire-tap.js';
import type { RemoteEnd } from '../remote/transport.js';
import { dataOf, textOf } from '../workflow/outcome.js';
import { printable } from './printable.js';

const textShownBytes = 2_048;
const nameWidth = 17;

/** Returns the findings, one per line. */
export function formatLook(look: ServerLook & { readonly entry?: string }): string {
  const row = (label: string, text: string): string => `${label.padEnd(nameWidth)}${printable(text)}`;
  return [
    ...look.facts.map(({ name, text }) => row(name, text)),
    ...look.missing.map((text) => row('missing', text)),
    ...look.options.map(({ line, why }) => row('set', `${line}  (${why})`)),
    ...(look.guesses ?? []).map(({ line, why }) => row('guess', `${line}  (${why})`)),
    ...(look.entry === undefined ? [] : [row('entry', look.entry)]),
  ].join('\n');
}

/** Returns an exchange as sent and received. */
export function formatWireEvent({ method, url, body, status, mediaType, reply, problem, ms }: WireEvent): string {
  const answer = status === undefined ? `no reply: ${problem ?? ''}` : `${status} ${mediaType ?? ''}`;
  const lines = [`> ${method} ${url}`, body, `< ${answer} ${ms} ms`, reply ?? ''];
  return lines
    .filter((line) => line !== '')
    .map((line) => line.replaceAll('\r\n', '\n').trimEnd())
    .join('\n');
}

/** Returns a progress report while the task runs. */
export function formatNews(news: Exclude<CallNews, { kind: 'waiting' }>): string {
  switch (news.kind) {
    case 'started':
      return `started          task ${printable(news.taskId)}`;
    case 'working':
      return [
        `working          ${printable(news.state)}${news.note === undefined ? '' : `: ${printable(news.note)}`}`,
        ...news.questions.map((question) => `asks             ${printable(question)} (not answered here)`),
      ].join('\n');
    case 'unreadable':
      return `read failed      ${printable(news.error.message)} (${news.error.code})`;
  }
}

/** Returns how the call ended. */
export function formatCall(call: TriedCall): string {
  const row = (text: string): string => `outcome          ${text}`;
  switch (call.kind) {
    case 'ended':
      if (call.end.kind === 'failed')
        return row(`failed: ${printable(call.end.error.message)} (${call.end.error.code})`);
      return row(
        `${call.end.isError ? 'completed with an error' : 'completed'}${isEmpty(call.end) ? ', with neither text nor data in it' : ''}: ${cutUtf8(JSON.stringify(call.end.result), textShownBytes)}`,
      );
    case 'not_started':
      return row(
        `${call.mayRun ? 'unknown whether anything was started' : 'not started'}: ${printable(call.error.message)} (${call.error.code})`,
      );
    case 'asked':
      return row(
        `not started: the server asks questions first, which are not answered here: ${call.questions.map(({ message }) => printable(message)).join('; ')}`,
      );
    case 'lost':
      return row(`lost: the server no longer knows the task: ${printable(call.error.message)}`);
    case 'start_given_up':
      return row('given up after Ctrl-C, before the server had answered the start: a task may be running');
    case 'given_up':
      return row(`given up after ${call.why === 'timeout' ? '--timeout' : 'Ctrl-C'}; ${cancelText(call.cancel)}`);
  }
}

function isEmpty(end: Extract<RemoteEnd, { kind: 'completed' }>): boolean {
  const outcome = { ...end, server: '' };
  return textOf(outcome) === '' && dataOf(outcome) === undefined;
}

function cancelText(kind: string): string {
  switch (kind) {
    case 'done':
    case 'gone':
      return 'the server has cancelled the task, or it had ended';
    case 'refused':
      return 'the server refused to cancel the task, which may be running';
    default:
      return 'the server did not answer the cancel, and the task may be running';
  }
}
