import type { Dice } from './dice.js';
import type { Entry, Moment, Request, StartTerms } from './timetable.js';

const keys = ['k1', 'k2'];
const ids = ['A', 'A', 'B'];

export function drawEntries(dice: Dice, hasSchedule: boolean): readonly Entry[] {
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

export function drawMoment(dice: Dice): Moment {
  const kind = dice.pick(['start', 'start', 'start', 'marker', 'commit', 'cleared'] as const);
  return { kind, nth: dice.pick([1, 1, 1, 2, 3, 5]) };
}

/** `isAimed`: at a moment that an end of the run is most likely to upset. */
export function drawRequests(dice: Dice, at: number, start: () => Request, isAimed: boolean): Entry[] {
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
