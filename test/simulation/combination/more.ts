import type { Dice } from './dice.js';
import { drawDelivery, drawLimitedStart, drawLimits, type DeliveryRequest, type LimitedStart } from './limits.js';
import { drawMoment, drawRequests } from './draw-entries.js';
import { flowBound } from './program-bounds.js';
import type { Case, Entry, Faults } from './timetable.js';

/** Starts on `main` in a lane wait for one another, so only short ones are drawn. */
export const laneBoundMax = 1_500;

/** Adds to some cases what came later. Drawn from dice of its own, so that the rest of a case stays what it was. */
export function drawMore(given: Case, dice: Dice): Case {
  const limits = dice.chance(0.2) ? drawLimits(dice) : undefined;
  const more: Entry[] = [];
  const startKeys = ['k1', 'k2'];
  if (limits !== undefined) {
    const onMain = flowBound(given.flows.main) <= laneBoundMax;
    const start = (): LimitedStart => {
      const key = `L${startKeys.length}`;
      startKeys.push(key);
      return drawLimitedStart(dice, limits, { key, onMain });
    };
    for (let bunches = dice.int(1, 3); bunches > 0; bunches--) more.push(...drawBunch(dice, dice.int(2, 5), start));
    for (let n = dice.int(0, 3); n > 0; n--) {
      const requests = drawRequests(dice, dice.int(0, 100_000) / 1_000, start, true);
      more.push(...requests.map((entry) => ('run' in entry ? { ...entry, run: dice.int(0, 8) } : entry)));
    }
  }
  if (dice.chance(0.15)) {
    let deliveries = 0;
    const delivery = (): DeliveryRequest => drawDelivery(dice, `D${++deliveries}`, startKeys);
    for (let bunches = dice.int(1, 2); bunches > 0; bunches--) more.push(...drawBunch(dice, dice.int(1, 4), delivery));
  }
  if (more.length === 0) return given;
  const all = { ...given, ...(limits === undefined ? {} : { limits }) };
  if (limits?.throttle === undefined || !dice.chance(0.5))
    return { ...all, entries: [...given.entries, ...more].sort(byTime) };
  // The process dies at the write of a throttled start, and its caller asks again.
  const again = more.flatMap((entry) => (entry.what === 'startLimited' ? [{ ...entry, at: entry.at + 45 }] : []));
  const of = [dice.pick(['crash', 'crashAfter', 'lostAck', 'lateApply', 'freeze100'] as const)];
  const faults: Faults = { kind: 'dice', rate: 1, of, end: 300, at: ['limited'], nth: dice.int(1, 5) };
  return { ...all, faults, entries: [...given.entries, ...more, ...again].sort(byTime) };
}

const byTime = (a: Entry, b: Entry): number => a.at - b.at;

/** Draws requests that come close together, some of them twice, at the same time or late. */
function drawBunch(dice: Dice, count: number, draw: () => LimitedStart | DeliveryRequest): readonly Entry[] {
  const after = dice.chance(0.25) ? drawMoment(dice) : undefined;
  const base = after === undefined ? dice.int(0, dice.pick([4_000, 60_000])) / 1_000 : 0;
  const near = dice.pick([0.03, 1, 5, 30]);
  return Array.from({ length: count }, draw).flatMap((request) => {
    const at = Math.round((base + (dice.int(0, 1_000) / 1_000) * near) * 1_000) / 1_000;
    const again = dice.chance(0.35) ? dice.pick([[0], [0.02], [5], [0, 300], [60]]) : [];
    return [0, ...again].map((later): Entry => ({
      at: at + later,
      ...(after === undefined ? {} : { after }),
      ...request,
    }));
  });
}
