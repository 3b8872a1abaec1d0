import type { JsonObject } from '../base/json.js';
import type { EpochMs } from '../base/time.js';

/** A question to a person. */
export interface Question {
  readonly message: string;
  /** JSON Schema for accepted answers; regular expressions and references in it are not checked. Default: none. */
  readonly schema?: JsonObject;
  /** What is asked for; `auth`: credentials. Default: an answer. */
  readonly kind?: 'auth';
  /** A page for the person to open; shown, never fetched. */
  readonly url?: string;
  /** The remote server whose task asks the question. */
  readonly server?: string;
}

/** Addressee of a question to the caller of a served task. */
export const toCaller = 'caller';

/** A question as it is recorded: with whom it is for. */
export interface AddressedQuestion extends Question {
  /** Addressee, by the name in the configuration of the app. Default: the one of the app, if it has one. */
  readonly to?: string;
  /** Time after which whoever was told is reminded, again and again. */
  readonly remindAfterMs?: number;
  /** The second addressee, and the time without an answer after which the question is sent there. */
  readonly escalate?: { readonly afterMs: number; readonly to: string };
}

/** The notices about a question, on the item of its token. */
export interface Notices {
  readonly workflow: string;
  /** An entry for each addressee: notices to one do not wait for those to another. */
  readonly lines: readonly NoticeLine[];
}

/** The notices to one addressee, one after the other. */
export interface NoticeLine {
  readonly to: string;
  /** Whether this is the second addressee. */
  readonly escalated?: true;
  /** Number of the current notice: 0 is the question itself, the others are reminders. */
  readonly number: number;
  /** When it is to be sent, or sent again; missing if there are no more. */
  readonly dueAtMs?: EpochMs;
  /** Attempts to send the current notice. */
  readonly tries: number;
  /** Time of the first of them. */
  readonly sinceMs?: EpochMs;
  /** Number of notices that the receiver took, and when it took the last one. */
  readonly taken: number;
  readonly takenAtMs?: EpochMs;
  /** Whether the receiver wants no more notices (410). */
  readonly refused?: true;
}

/** What the token of a question has. */
export interface OfQuestion {
  /** The question, if the wait is for a person. */
  readonly form?: AddressedQuestion;
  /** Notices to people about the question. Missing if nobody is told, and on items of earlier versions. */
  readonly notices?: Notices;
}
