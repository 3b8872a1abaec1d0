import type { WhenBusy, WhenExceeded } from '../../../lib/workflow/flow-control.js';
import type { Dice } from './dice.js';
import { drawFlow } from './draw-program.js';
import { flowBound } from './program-bounds.js';
import type { Flow, SignalName } from './program.js';

/** The workflow `limited` and its limits. Durations are in seconds. */
export interface Limits {
  readonly flow: Flow;
  readonly whenBusy?: WhenBusy;
  /** `perLane`: starts of one lane share it; those of no lane are not throttled. */
  readonly throttle?: {
    readonly limit: number;
    readonly period: number;
    readonly whenExceeded: WhenExceeded;
    readonly perLane: boolean;
  };
  readonly debounce?: { readonly period: number; readonly maxWait: number };
  /** All kids are in one lane. */
  readonly kids?: WhenBusy;
}

/** A start whose concurrency key is its lane, given with the start or computed from its input. */
export interface LimitedStart {
  readonly what: 'startLimited';
  readonly on: 'limited' | 'main';
  /** Identifies the start, and everything that it has in common with its repetitions. */
  readonly key: string;
  readonly lane?: string;
  readonly timeout?: number;
  readonly delay?: number;
  readonly as?:
    | { readonly id: string; readonly whenRunning: 'useExisting' | 'fail' | 'terminate' }
    | { readonly signal: SignalName };
}

/** A delivery to a hook: it starts a run, or sends a signal to the run with the key `to`. */
export interface DeliveryRequest {
  readonly what: 'deliver';
  readonly id: string;
  readonly lane?: string;
  readonly to?: string;
}

const flowBoundMax = 400;

export function drawLimits(dice: Dice): Limits {
  const whenBusy = dice.chance(0.85) ? dice.pick(['queue', 'queue', 'replace', 'refuse'] as const) : undefined;
  const kind = dice.weighed({ none: whenBusy === undefined ? 0 : 4, throttle: 3, debounce: 3 });
  let flow: Flow;
  do flow = drawFlow(dice, dice.chance(0.3));
  while (flowBound(flow) > flowBoundMax);
  const period = dice.pick([1, 5, 20, 60]);
  return {
    flow,
    ...(whenBusy === undefined ? {} : { whenBusy }),
    ...(kind === 'throttle'
      ? {
          throttle: {
            limit: dice.int(1, 3),
            period,
            whenExceeded: dice.pick(['delay', 'delay', 'refuse'] as const),
            perLane: dice.chance(0.5),
          },
        }
      : {}),
    ...(kind === 'debounce' ? { debounce: { period, maxWait: period * dice.pick([1, 2, 10]) } } : {}),
    ...(dice.chance(0.2) ? { kids: dice.pick(['queue', 'replace', 'refuse'] as const) } : {}),
  };
}

export function drawLimitedStart(
  dice: Dice,
  { throttle, debounce }: Limits,
  { key, onMain }: { readonly key: string; readonly onMain: boolean },
): LimitedStart {
  const on = onMain && dice.chance(0.3) ? 'main' : 'limited';
  const isDebounced = on === 'limited' && debounce !== undefined;
  const as = isDebounced ? 'key' : dice.weighed({ key: 6, id: 2, signal: 2 });
  return {
    what: 'startLimited',
    on,
    key,
    ...drawLane(dice),
    ...(dice.chance(0.1) ? { timeout: dice.pick([1, 8, 40, 200]) } : {}),
    // A delayed start counts for a throttle when it is accepted.
    ...(throttle === undefined && dice.chance(0.08) ? { delay: dice.pick([1, 20, 90]) } : {}),
    ...(as === 'id'
      ? { as: { id: dice.pick(['A', 'B']), whenRunning: dice.pick(['useExisting', 'fail', 'terminate'] as const) } }
      : {}),
    ...(as === 'signal' ? { as: { signal: dice.pick(['x', 'y'] as const) } } : {}),
  };
}

export function drawDelivery(dice: Dice, id: string, startKeys: readonly string[]): DeliveryRequest {
  return {
    what: 'deliver',
    id,
    ...(dice.chance(0.5) ? drawLane(dice) : { to: dice.pick(startKeys) }),
  };
}

function drawLane(dice: Dice): { readonly lane?: string } {
  return dice.chance(0.92) ? { lane: dice.pick(['a', 'a', 'a', 'b']) } : {};
}

/** Returns the settings without one of them, for each that is there. */
export function* smallerLimits(limits: Limits): Generator<Limits> {
  const { flow, whenBusy, throttle, debounce, kids } = limits;
  const parts = { whenBusy, throttle, debounce, kids };
  for (const left of Object.keys(parts))
    if (parts[left as keyof typeof parts] !== undefined)
      yield {
        flow,
        ...Object.fromEntries(Object.entries(parts).filter(([name, part]) => name !== left && part !== undefined)),
      };
}

export function printLimits({ whenBusy, throttle, debounce, kids }: Limits): string {
  return [
    ...(whenBusy === undefined ? [] : [`one at a time: ${whenBusy}`]),
    ...(throttle === undefined
      ? []
      : [
          `at most ${throttle.limit} in ${throttle.period} s${throttle.perLane ? ' per lane' : ''}: ${throttle.whenExceeded}`,
        ]),
    ...(debounce === undefined ? [] : [`debounced by ${debounce.period} s, at most ${debounce.maxWait} s`]),
    ...(kids === undefined ? [] : [`one kid at a time: ${kids}`]),
  ].join('; ');
}

export function printLimitedStart({ on, key, lane, as }: LimitedStart): string {
  const how =
    as === undefined ? '' : 'id' in as ? ` as ${as.id}, running: ${as.whenRunning}` : `, or signal '${as.signal}'`;
  return `start ${on} with key ${key}${lane === undefined ? '' : ` in lane ${lane}`}${how}`;
}

export function printDelivery({ id, lane, to }: DeliveryRequest): string {
  return `delivery ${id} ${to === undefined ? `starts a run${lane === undefined ? '' : ` in lane ${lane}`}` : `signals the run with key ${to}`}`;
}
