import type { WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { HistoryEvent } from '../../history/event.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { Command } from '../command.js';

/** Events that belong to a wait. */
export type WaitEvent = HistoryEvent & { readonly waitId: WaitId };

/** Value or error that a wait gives the workflow. */
export type Given = { readonly value: unknown } | Error;

export type EventOf<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { readonly type: Type }>;

/** Events that end a wait by themselves, without a token, and the value or error that each of them gives. */
export type Ends<Type extends HistoryEvent['type']> = { readonly [One in Type]: (event: EventOf<One>) => Given };

/** Work that the workflow requested without waiting for it, and that was not in the log when its function settled. */
export interface Dropped {
  readonly kind: 'step' | 'remote task' | 'token' | 'child';
  readonly name: string;
}

/** Fields that all events of a wait have. */
type Begin = 'type' | 'atMs' | 'waitId';

/** Definition of one kind of wait for replay. Each kind has a file; `kinds.ts` collects them. */
export interface WaitKind<Asked extends Command, Recorded extends WaitEvent> {
  /** Type of the event that records the command. */
  readonly eventType: Recorded['type'];

  /** Missing if the end is only in the log: then only the workflow can say that the wait was closed. */
  readonly hasToken?: true;

  /** Returns the other fields of the event that records the command; deadlines run from `atMs`. */
  details(command: Asked, atMs: EpochMs): Omit<Recorded, Begin>;

  /** Returns what must be equal in the history and in the command that the code requests now. */
  identity(wait: Asked | Recorded): string;

  /** Describes the request, in the same words for the history and for the code. */
  describe(wait: Asked | Recorded): string;

  /** Returns the value or error of the settlement of its token. Missing if the kind has no token. */
  given?(command: Asked, outcome: TokenOutcome): Given;

  /** Returns true if it continues after the end of the run, and so must be started first. Missing: never. */
  outlivesRun?(command: Asked): boolean;

  /** Returns the work whose effect outside is lost if it was requested but never happens. Missing: none. */
  toDropped?(command: Asked): Dropped;
}
