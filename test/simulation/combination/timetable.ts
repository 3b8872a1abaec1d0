import type { Deviation } from '../world.js';
import type { Agent } from './agent.js';
import type { DeliveryRequest, LimitedStart, Limits } from './limits.js';
import type { Flow, SignalName } from './program.js';
import type { Served, ServedRequest } from './served/served.js';

/** The run that a request goes to: its position among all runs, in the order of their creation. */
type Which = number;

type OverlapPolicy = 'skip' | 'buffer' | 'allow' | 'cancel' | 'terminate';

/** A request from outside. */
export type Request =
  | ({ readonly what: 'start'; readonly key: string } & StartTerms)
  | ({
      readonly what: 'startNamed';
      readonly id: string;
      readonly whenRunning: 'useExisting' | 'fail' | 'terminate';
      readonly whenEnded: 'startNew' | 'useExisting' | 'fail';
    } & StartTerms)
  | { readonly what: 'startOrSignal'; readonly key: string; readonly name: SignalName }
  | { readonly what: 'pause' | 'resume' | 'retryNow' | 'cancel' | 'terminate'; readonly run: Which }
  | { readonly what: 'signal'; readonly run: Which; readonly name: SignalName }
  /** Sends that many signals with long names, whose wakes are lost. */
  | { readonly what: 'burst'; readonly run: Which; readonly count: number }
  /** `pick`: which of the open waits. */
  | { readonly what: 'settle' | 'answer'; readonly pick: number }
  /** Settles a wait for a remote task; `by`: with which proof. */
  | { readonly what: 'relay'; readonly pick: number; readonly by: number }
  | { readonly what: 'heartbeat'; readonly pick: number; readonly by: number }
  | { readonly what: 'outcome' | 'query'; readonly run: Which }
  | LimitedStart
  | DeliveryRequest
  | ServedRequest;

export interface StartTerms {
  readonly timeout?: number;
  readonly delay?: number;
}

/** A fault of the store. */
export type Trouble =
  /** Refuses that share of the writes, or of those of one kind of item. */
  | { readonly what: 'throttle'; readonly of: ThrottledKind; readonly for: number; readonly share: number }
  /** Makes a partition of the due index unreadable. */
  | { readonly what: 'unreadable'; readonly partition: number; readonly for: number }
  /** Removes an item that the history refers to, and brings it back. */
  | { readonly what: 'lose'; readonly of: LostKind; readonly pick: number; readonly for: number };

export type LostKind = 'signal' | 'token' | 'commit';

export type ThrottledKind = 'writes' | 'commits' | 'tokens' | 'inbox' | 'heads' | 'reads';

/** `at` counts from the start of the world, or from the moment at which an operation of that kind begins. */
export type Entry = { readonly at: number; readonly after?: Moment } & (Request | Trouble);

export interface Moment {
  readonly kind: OperationKind;
  readonly nth: number;
}

/** Faults at operations. */
export type Faults =
  | {
      readonly kind: 'dice';
      readonly rate: number;
      readonly of: readonly Deviation[];
      readonly end: number;
      /** Kinds of operations to which faults are limited. */
      readonly at?: readonly OperationKind[];
      /** Limits faults to this one of them. */
      readonly nth?: number;
    }
  /** Faults by operation: its tag and its count. */
  | { readonly kind: 'list'; readonly list: readonly Fault[] };

/** Kinds of operations, by their tags. */
export const operationKinds = {
  marker: /^update a /,
  commit: /^(put|transact) h#/,
  token: /^(put|update) t#/,
  cleared: /^update t#\S+ .*-due/,
  handle: /^update t#\S+ handle/,
  inbox: /^transact a= i#|^update i#/,
  start: /^start /,
  cancel: /^cancel /,
  read: /^(query|get|read) /,
  /** The write of a start that is throttled, or waits in a lane. */
  limited: /^transact a .*a=/,
} as const;

/** Kinds of operations that concern served tasks most. */
const servedOperationKinds = {
  /** The answer of a caller to a question. */
  answer: /^transact a= i#message/,
  /** Push configs, and what is pushed. */
  pushes: /^(put|update) p#|^query p#|^push /,
  heads: /^(put|update) a\b/,
} as const;
export type OperationKind = keyof typeof operationKinds | keyof typeof servedOperationKinds;

/** Returns what the tags of operations of a kind look like. */
export const patternOf = (kind: OperationKind): RegExp => ({ ...operationKinds, ...servedOperationKinds })[kind];

export interface Fault {
  readonly at: string;
  readonly deviation: Deviation;
}

export interface Deploy {
  /** `patched`: a later version takes over. `missing`: for a while a version without these workflows runs. */
  readonly kind: 'patched' | 'missing';
  readonly from: number;
  readonly until: number;
}

/** A whole simulation: what runs, who does what and when, and what goes wrong. */
export interface Case {
  readonly seed: number;
  readonly flows: { readonly main: Flow; readonly kid: Flow };
  readonly entries: readonly Entry[];
  readonly faults: Faults;
  /** Seconds by which the clocks of the replicas are ahead. */
  readonly skews: readonly number[];
  readonly dedupes: boolean;
  readonly finds: boolean;
  /** `perhaps`: whether its tasks can be listed is not known beforehand; `never`: they cannot. */
  readonly lists?: 'perhaps' | 'never';
  readonly missingFor: number;
  readonly cancelsFail: boolean;
  /** Seconds that a prompt server takes to answer a start. */
  readonly answersAfter: number;
  /**
   * Seconds that the remote server takes to answer a start, so that workers make its starts. Missing: it is known to be
   * prompt.
   */
  readonly startsTake?: number;
  readonly deploy?: Deploy;
  /** Missing: the remote server is an MCP server without limits. */
  readonly agent?: Agent;
  /** Missing: no starts are limited. */
  readonly limits?: Limits;
  /** Missing: nothing is served. */
  readonly served?: Served;
  readonly schedule?: { readonly overlap: OverlapPolicy; readonly every: number; readonly catchUp: number };
  /** Seed of the tenants to which the callers belong. Missing: callers have no tenant. */
  readonly tenants?: number;
}
