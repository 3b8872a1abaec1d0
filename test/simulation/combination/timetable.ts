import type { Deviation } from '../world.js';
import type { Dice } from './dice.js';
import { boundOf, drawFlow, type Flow, type SignalName } from './program.js';

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
  | { readonly what: 'heartbeat'; readonly pick: number; readonly by: number }
  | { readonly what: 'outcome' | 'query'; readonly run: Which };

interface StartTerms {
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
} as const;
export type OperationKind = keyof typeof operationKinds;

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
  readonly schedule?: { readonly overlap: OverlapPolicy; readonly every: number; readonly catchUp: number };
  /** Seed of the tenants to which the callers belong. Missing: callers have no tenant. */
  readonly tenants?: number;
}

const boundMax = 7_200;

export function drawCase(seed: number, dice: Dice): Case {
  let flows: Case['flows'];
  do flows = { main: drawFlow(dice, true), kid: drawFlow(dice, false) };
  while (flowBound(flows.main) > boundMax || flowBound(flows.kid) > 1_500);
  const schedule = dice.chance(0.12)
    ? {
        overlap: dice.pick(['skip', 'buffer', 'allow', 'cancel', 'terminate'] as const),
        every: dice.pick([1, 1, 2]),
        catchUp: dice.pick([5, 10]),
      }
    : undefined;
  const faults = drawFaults(dice);
  // A server that has one weakness often has others.
  const isWeak = dice.chance(0.25);
  return {
    seed,
    flows,
    entries: drawEntries(dice, schedule !== undefined),
    faults,
    skews: drawSkews(dice),
    dedupes: dice.chance(isWeak ? 0.1 : 0.5),
    finds: dice.chance(isWeak ? 0.2 : 0.4),
    missingFor: dice.chance(0.1) ? dice.pick([5, 20]) : 0,
    cancelsFail: dice.chance(isWeak ? 0.9 : 0.35),
    answersAfter: dice.pick(isWeak ? [0.3, 3, 12] : [0.3, 0.3, 0.3, 2]),
    ...(dice.chance(0.12) ? { deploy: drawDeploy(dice) } : {}),
    ...(schedule === undefined ? {} : { schedule }),
    ...(dice.chance(0.25) ? { startsTake: dice.pick([0.3, 8, 40, 120]) } : {}),
    ...(dice.chance(0.5) ? { lists: dice.pick(['perhaps', 'never'] as const) } : {}),
    ...(dice.chance(0.3) ? { tenants: dice.int(1, 1_000_000) } : {}),
  };
}

export function flowBound({ body, rounds }: Flow): number {
  return boundOf(body) * (rounds + 1);
}

function drawDeploy(dice: Dice): Deploy {
  const from = dice.int(0, 60);
  return {
    kind: dice.pick(['patched', 'missing'] as const),
    from,
    until: from + dice.pick([0, 20, 120]),
  };
}

function drawSkews(dice: Dice): readonly number[] {
  if (dice.chance(0.6)) return [];
  const far = dice.pick([0.05, 1, 2, 5, 60, 180]);
  return Array.from({ length: 3 }, () => dice.pick([0, far, -far]));
}

/** Some seeds have only a few kinds of faults, so that these show what others would hide. */
function drawFaults(dice: Dice): Faults {
  if (dice.chance(0.4)) return { kind: 'dice', rate: 0, of: [], end: 0 };
  const all: readonly Deviation[] = [
    'crash',
    'crashAndMessageLost',
    'reboot',
    'freeze3',
    'freeze100',
    'freeze1000',
    'lostAck',
    'lateApply',
    'throttle',
    'drop',
    'duplicate',
    'refused',
    'noReply',
    'noReplyLost',
  ];
  if (dice.chance(0.25)) {
    const kind = dice.weighed({ marker: 5, cleared: 2, handle: 1, start: 2, commit: 2, token: 1 });
    const of = dice.pick(['freeze100', 'freeze100', 'freeze100', 'freeze1000', 'lateApply', 'crash'] as const);
    return { kind: 'dice', rate: 1, of: [of], end: 300, at: [kind], nth: dice.pick([1, 2, 2, 2, 3, 3, 5, 8]) };
  }
  if (dice.chance(0.4)) {
    const names = Object.keys(operationKinds) as OperationKind[];
    const groups: readonly (readonly OperationKind[])[] = [
      ['start', 'cleared'],
      ['handle', 'cleared'],
      ['cleared'],
      ['marker'],
      ['marker'],
      ['commit', 'marker', 'token'],
    ];
    return {
      kind: 'dice',
      rate: dice.pick([0.2, 0.4, 0.7]),
      of: dice.pick([
        ['freeze100', 'freeze1000'],
        ['freeze100'],
        ['freeze1000'],
        ['freeze100', 'refused'],
        ['freeze3', 'refused'],
        ['throttle'],
        ['lateApply'],
        ['crash'],
      ] as const),
      end: dice.pick([60, 300]),
      at: dice.chance(0.6) ? dice.pick(groups) : Array.from({ length: dice.int(1, 3) }, () => dice.pick(names)),
    };
  }
  const few = dice.chance(0.6);
  const of = few ? all.filter(() => dice.chance(0.25)) : all;
  return {
    kind: 'dice',
    rate: dice.pick([0.005, 0.01, 0.02, 0.05, 0.1]),
    of: of.length === 0 ? ['throttle'] : of,
    end: dice.pick([60, 300, 600]),
  };
}

const keys = ['k1', 'k2'];
const ids = ['A', 'A', 'B'];

function drawEntries(dice: Dice, hasSchedule: boolean): readonly Entry[] {
  const entries: Entry[] = [];
  const terms = (): StartTerms => ({
    ...(dice.chance(0.12) ? { timeout: dice.pick([0.5, 1, 3, 8, 40, 200]) } : {}),
    ...(dice.chance(0.08) ? { delay: dice.pick([1, 20, 90]) } : {}),
  });
  const start = (): Request =>
    dice.chance(0.5)
      ? { what: 'start', key: dice.pick(keys), ...terms() }
      : dice.chance(0.75)
        ? {
            what: 'startNamed',
            id: dice.pick(ids),
            whenRunning: dice.pick(['useExisting', 'fail', 'terminate', 'terminate'] as const),
            whenEnded: dice.pick(['startNew', 'startNew', 'useExisting', 'fail'] as const),
            ...terms(),
          }
        : { what: 'startOrSignal', key: dice.pick(keys), name: dice.pick(['x', 'y'] as const) };
  if (!hasSchedule || dice.chance(0.7)) entries.push({ at: 0, ...start() });

  // Callers come in bunches, and their requests coincide with what the run does at that moment.
  const bunches = dice.int(0, 4);
  for (let bunch = 0; bunch < bunches; bunch++) {
    const after = dice.chance(0.4) ? drawMoment(dice) : undefined;
    const base =
      after !== undefined ? 0 : dice.chance(0.6) ? dice.int(0, 12_000) / 1_000 : dice.int(0, 400_000) / 1_000;
    const near = dice.pick([0.03, 0.3, 2, 10]);
    const count = dice.int(1, 4);
    for (let n = 0; n < count; n++) {
      const at = Math.round((base + (dice.int(0, 1_000) / 1_000) * near) * 1_000) / 1_000;
      const requests = drawRequests(dice, at, start, after !== undefined);
      entries.push(...(after === undefined ? requests : requests.map((entry) => ({ ...entry, after }))));
    }
  }
  const troubles = dice.chance(0.25) ? dice.int(1, 2) : 0;
  for (let n = 0; n < troubles; n++) entries.push(drawTrouble(dice, hasSchedule));
  return entries.sort((a, b) => a.at - b.at);
}

function drawMoment(dice: Dice): Moment {
  const kind = dice.pick(['start', 'start', 'start', 'marker', 'commit', 'cleared'] as const);
  return { kind, nth: dice.pick([1, 1, 1, 2, 3, 5]) };
}

/** `isAimed`: at a moment that an end of the run is most likely to upset. */
function drawRequests(dice: Dice, at: number, start: () => Request, isAimed: boolean): Entry[] {
  const run = dice.pick([0, 0, 0, 0, 1, 2, 5]);
  const what = dice.weighed({
    start: 3,
    pause: 3,
    retryNow: 0.7,
    cancel: isAimed ? 4 : 3,
    terminate: isAimed ? 5 : 1.2,
    signal: 6,
    burst: 0.01,
    settle: 3,
    heartbeat: 1,
    answer: 0.5,
    outcome: 1,
    query: 1,
  });
  switch (what) {
    case 'start':
      return [{ at, ...start() }];
    case 'pause': {
      const pause: Entry = { at, what, run };
      if (dice.chance(0.15)) return [pause];
      const later = dice.pick([0.02, 0.5, 1, 5, 60, 120]);
      return [pause, { at: Math.round((at + later) * 1_000) / 1_000, what: 'resume', run }];
    }
    case 'retryNow':
    case 'cancel':
    case 'terminate':
    case 'outcome':
    case 'query':
      return [{ at, what, run }];
    case 'signal':
      return [{ at, what, run, name: dice.pick(['x', 'y'] as const) }];
    case 'burst':
      return [
        { at: Math.max(0, at - 0.2), what: 'pause', run },
        { at: at + 1, what, run, count: 7_600 },
        ...(dice.chance(0.5) ? [{ at: at + 100, what: 'terminate', run } as const] : []),
      ];
    case 'settle':
    case 'answer':
      return [{ at, what, pick: dice.int(0, 3) }];
    case 'heartbeat':
      return [{ at, what, pick: dice.int(0, 3), by: dice.pick([2, 30, 200]) }];
  }
}

function drawTrouble(dice: Dice, hasSchedule: boolean): Entry {
  const at = dice.chance(0.7) ? dice.int(0, 8_000) / 1_000 : dice.int(0, 200);
  switch (dice.weighed({ throttle: 5, unreadable: hasSchedule ? 4 : 1, lose: 5 })) {
    case 'throttle':
      return {
        at,
        what: 'throttle',
        of: dice.pick(['writes', 'commits', 'commits', 'tokens', 'inbox', 'heads', 'reads'] as const),
        for: dice.pick([1, 3, 10, 60, 400]),
        share: dice.pick([1, 1, 0.5]),
      };
    case 'unreadable':
      return { at, what: 'unreadable', partition: dice.int(0, 15), for: dice.pick([100, 400, 900]) };
    case 'lose':
      return {
        at: dice.chance(0.6) ? dice.int(1, 30) : dice.int(1, 300),
        what: 'lose',
        of: dice.pick(['signal', 'token', 'commit'] as const),
        pick: dice.int(0, 3),
        for: dice.pick([30, 200, 400]),
      };
  }
}

const isAbout = (length: number): string => `for ${length} s`;

export function printEntry(entry: Entry): string {
  const { after } = entry;
  const at = `${entry.at} s${after === undefined ? '' : ` after ${after.kind} ${after.nth}`}`.padStart(9);
  const run = 'run' in entry ? ` of run ${entry.run}` : '';
  switch (entry.what) {
    case 'start':
      return `${at}  start with key ${entry.key}${printTerms(entry)}`;
    case 'startNamed':
      return `${at}  start as ${entry.id}, running: ${entry.whenRunning}, ended: ${entry.whenEnded}${printTerms(entry)}`;
    case 'startOrSignal':
      return `${at}  start or signal '${entry.name}' with key ${entry.key}`;
    case 'signal':
      return `${at}  signal '${entry.name}'${run}`;
    case 'burst':
      return `${at}  ${entry.count} signals with long names${run}`;
    case 'settle':
    case 'answer':
      return `${at}  ${entry.what} wait ${entry.pick}`;
    case 'heartbeat':
      return `${at}  heartbeat of wait ${entry.pick} by ${entry.by} s`;
    case 'throttle':
      return `${at}  the store refuses ${entry.share === 1 ? '' : `${entry.share * 100} % of `}${entry.of} ${isAbout(entry.for)}`;
    case 'unreadable':
      return `${at}  partition ${entry.partition} of the due index cannot be read ${isAbout(entry.for)}`;
    case 'lose':
      return `${at}  an item that the history refers to (${entry.of} ${entry.pick}) is gone ${isAbout(entry.for)}`;
    case 'pause':
    case 'resume':
    case 'retryNow':
    case 'cancel':
    case 'terminate':
    case 'outcome':
    case 'query':
      return `${at}  ${entry.what}${run}`;
  }
}

function printTerms({ timeout, delay }: StartTerms): string {
  return `${timeout === undefined ? '' : `, timeout ${timeout} s`}${delay === undefined ? '' : `, delay ${delay} s`}`;
}
