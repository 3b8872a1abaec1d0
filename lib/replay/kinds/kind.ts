import type { WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { HistoryEvent } from '../../history/event.js';
import type { TokenOutcome } from '../../history/settlement.js';
import type { Command } from '../command.js';

/** Events that belong to a wait. */
export type WaitEvent = HistoryEvent & { readonly waitId: WaitId };

/** What a wait gives the workflow that awaits it. */
export type Given = { readonly value: unknown } | Error;

export type EventOf<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { readonly type: Type }>;

/** Events that end a wait by themselves, without a token, and what each of them gives. */
export type Ends<Type extends HistoryEvent['type']> = { readonly [One in Type]: (event: EventOf<One>) => Given };

/** Something that the workflow asked for without waiting for it, and that was not in the log when its function settled. */
export interface Dropped {
  readonly kind: 'step' | 'remote task' | 'token' | 'child';
  readonly name: string;
}

/** Fields that every event of a wait begins with. */
type Begin = 'type' | 'atMs' | 'waitId';

/** All that replay knows of one kind of wait: one file each, joined in `kinds.ts`. */
export interface WaitKind<Asked extends Command, Recorded extends WaitEvent> {
  /** Type of the event that records the command. */
  readonly eventType: Recorded['type'];

  /** Missing where the end is in the log alone: nothing but the workflow can say that nobody waits for it any more. */
  readonly hasToken?: true;

  /** What the event that records the command holds beside its begin; deadlines run from `atMs`. */
  details(command: Asked, atMs: EpochMs): Omit<Recorded, Begin>;

  /** What must be the same in the history and in what the code asks for now. */
  identity(wait: Asked | Recorded): string;

  /** Names what was asked for, in the same words for the history and for the code. */
  describe(wait: Asked | Recorded): string;

  /** What the settlement of its token gives. Missing where the kind has no token. */
  given?(command: Asked, outcome: TokenOutcome): Given;

  /** Says whether the end of the run leaves it to go on, so that it is started first. Missing: never. */
  outlivesRun?(command: Asked): boolean;

  /** What is missing in the world when it was asked for and never happens. Missing: nothing. */
  toDropped?(command: Asked): Dropped;
}
