import type { Deviation } from '../world.js';
import type { Dice } from './dice.js';
import { boundOf, drawFlow, type Flow, type SignalName } from './program.js';

/** Which run a request goes to: its place among all runs, in the order in which they came to be. */
type Which = number;

type OverlapPolicy = 'skip' | 'buffer' | 'allow' | 'cancel' | 'terminate';

/** What somebody outside does. */
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
  /** So many with long names, whose wakes are lost. */
  | { readonly what: 'burst'; readonly run: Which; readonly count: number }
  /** `pick`: which of the open waits. */
  | { readonly what: 'settle' | 'answer'; readonly pick: number }
  | { readonly what: 'heartbeat'; readonly pick: number; readonly by: number }
  | { readonly what: 'outcome' | 'query'; readonly run: Which };

interface StartTerms {
  readonly timeout?: number;
  readonly delay?: number;
}

/** What befalls the store. */
export type Trouble =
  /** Writes, or those of one kind of item, are refused, so large a share of them. */
  | { readonly what: 'throttle'; readonly of: ThrottledKind; readonly for: number; readonly share: number }
  /** A partition of the due index cannot be read. */
  | { readonly what: 'unreadable'; readonly partition: number; readonly for: number }
  /** The item of a signal that the history has taken in is gone. */
  | { readonly what: 'lose'; readonly pick: number };

export type ThrottledKind = 'writes' | 'commits' | 'tokens' | 'inbox' | 'heads' | 'reads';

export type Entry = { readonly at: number } & (Request | Trouble);

/** What goes wrong at operations. */
export type Faults =
  | {
      readonly kind: 'dice';
      readonly rate: number;
      readonly of: readonly Deviation[];
      readonly end: number;
      /** Nothing goes wrong at other operations. */
      readonly at?: readonly OperationKind[];
    }
  /** By the operation: its tag and which time it is. */
  | { readonly kind: 'list'; readonly list: readonly Fault[] };

/** Operations by their tags. */
export const operationKinds = {
  marker: /^update a /,
  commit: /^(put|transact) h#/,
  token: /^(put|update) t#/,
  cleared: /^update t#\S+ .*-due/,
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
  /** `patched`: a later version takes over. `missing`: for a while there is one without these workflows. */
  readonly kind: 'patched' | 'missing';
  readonly from: number;
  readonly until: number;
}

/** One simulation, whole: what runs, who does what when, and what goes wrong. */
export interface Case {
  readonly seed: number;
  readonly flows: { readonly main: Flow; readonly kid: Flow };
  readonly entries: readonly Entry[];
  readonly faults: Faults;
  /** How far ahead the clocks of the replicas are, in seconds. */
  readonly skews: readonly number[];
  readonly dedupes: boolean;
  readonly finds: boolean;
  readonly missingFor: number;
  readonly cancelsFail: boolean;
  /** How long the remote server takes to answer a start, in seconds. Left out: it is known to answer at once. */
  readonly startsTake?: number;
  readonly deploy?: Deploy;
  readonly schedule?: { readonly overlap: OverlapPolicy; readonly every: number; readonly catchUp: number };
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
  return {
    seed,
    flows,
    entries: drawEntries(dice, schedule !== undefined),
    faults,
    skews: drawSkews(dice),
    dedupes: dice.chance(0.5),
    finds: dice.chance(0.4),
    missingFor: dice.chance(0.1) ? dice.pick([5, 20]) : 0,
    cancelsFail: dice.chance(0.4),
    ...(dice.chance(0.12) ? { deploy: drawDeploy(dice) } : {}),
    ...(schedule === undefined ? {} : { schedule }),
    ...(dice.chance(0.25) ? { startsTake: dice.pick([0.3, 8, 40, 120]) } : {}),
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

/** Some seeds have a few kinds of faults only, so that these show what others would hide. */
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
  if (dice.chance(0.35)) {
    const names = Object.keys(operationKinds) as OperationKind[];
    const groups: readonly (readonly OperationKind[])[] = [
      ['start', 'cleared'],
      ['marker'],
      ['commit', 'marker', 'token'],
    ];
    return {
      kind: 'dice',
      rate: dice.pick([0.2, 0.4]),
      of: dice.pick([
        ['freeze100', 'freeze1000'],
        ['freeze100'],
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

  // Callers come in bunches, and what they do meets what the run does at that moment.
  const bunches = dice.int(0, 4);
  for (let bunch = 0; bunch < bunches; bunch++) {
    const base = dice.chance(0.6) ? dice.int(0, 12_000) / 1_000 : dice.int(0, 400_000) / 1_000;
    const near = dice.pick([0.03, 0.3, 2, 10]);
    const count = dice.int(1, 4);
    for (let n = 0; n < count; n++) {
      const at = Math.round((base + (dice.int(0, 1_000) / 1_000) * near) * 1_000) / 1_000;
      entries.push(...drawRequests(dice, at, start));
    }
  }
  const troubles = dice.chance(0.25) ? dice.int(1, 2) : 0;
  for (let n = 0; n < troubles; n++) entries.push(drawTrouble(dice, hasSchedule));
  return entries.sort((a, b) => a.at - b.at);
}

function drawRequests(dice: Dice, at: number, start: () => Request): Entry[] {
  const run = dice.pick([0, 0, 0, 0, 1, 2, 5]);
  const what = dice.weighed({
    start: 3,
    pause: 3,
    retryNow: 0.7,
    cancel: 3,
    terminate: 1.2,
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
  switch (dice.weighed({ throttle: 5, unreadable: hasSchedule ? 4 : 1, lose: 3 })) {
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
      return { at: dice.int(1, 300), what: 'lose', pick: dice.int(0, 3) };
  }
}

const isAbout = (length: number): string => `for ${length} s`;

export function printEntry(entry: Entry): string {
  const at = `${entry.at} s`.padStart(9);
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
      return `${at}  the item of a taken signal is gone (${entry.pick})`;
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
