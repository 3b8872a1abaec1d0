import type { LintRule } from './finding.js';

export interface OutsideUse {
  readonly rule: LintRule;
  readonly instead: string;
}

const clock: OutsideUse = { rule: 'no-clock', instead: 'use ctx.now()' };
const random: OutsideUse = { rule: 'no-random', instead: 'use ctx.random()' };
const id: OutsideUse = { rule: 'no-random', instead: 'use ctx.uuid(), or make it in a step' };
const timer: OutsideUse = { rule: 'no-timers', instead: 'use ctx.sleep()' };
const network: OutsideUse = { rule: 'no-network', instead: 'call it in a step' };
const environment: OutsideUse = {
  rule: 'no-environment',
  instead: 'read it in a step, or pass it in with the input',
};

/** Uses by the name that `outsideName` returns. Values, not calls, so that passing one on counts as a use. */
const uses: Readonly<Record<string, OutsideUse>> = {
  'Date.now': clock,
  'performance.now': clock,
  'node:perf_hooks#performance.now': clock,
  'process.hrtime': clock,
  'process.hrtime.bigint': clock,
  'Math.random': random,
  'crypto.randomUUID': id,
  'crypto.getRandomValues': id,
  'node:crypto#randomUUID': id,
  'node:crypto#randomBytes': id,
  'node:crypto#randomInt': id,
  'node:crypto#getRandomValues': id,
  'node:crypto#webcrypto.randomUUID': id,
  'node:crypto#webcrypto.getRandomValues': id,
  ...Object.fromEntries(
    ['setTimeout', 'setInterval', 'setImmediate'].flatMap((name) => [
      [name, timer],
      [`node:timers#${name}`, timer],
      [`node:timers/promises#${name}`, timer],
    ]),
  ),
  'node:timers/promises#scheduler.wait': timer,
  fetch: network,
  'undici#fetch': network,
  'undici#request': network,
  'node:http#request': network,
  'node:http#get': network,
  'node:https#request': network,
  'node:https#get': network,
  'process.env': environment,
  'node:process#env': environment,
};

/** Returns what the use of a name of the outside world does to a workflow; undefined if nothing. */
export function outsideUse(name: string): OutsideUse | undefined {
  return Object.hasOwn(uses, name) ? uses[name] : undefined;
}

/** Use of `Date` without an argument, called or constructed: it is the current time. */
export const dateUse = clock;
