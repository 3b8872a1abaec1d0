import type { Dice } from './dice.js';
import { drawEntries } from './draw-entries.js';
import { drawFaults } from './draw-faults.js';
import { drawFlow } from './draw-program.js';
import { flowBound } from './program-bounds.js';
import type { Case, Deploy } from './timetable.js';

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
