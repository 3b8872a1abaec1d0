import type { Deviation } from '../world.js';
import type { Dice } from './dice.js';
import { operationKinds, type Faults, type OperationKind } from './timetable.js';

/** Some seeds have only a few kinds of faults, so that these show what others would hide. */
export function drawFaults(dice: Dice): Faults {
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
    const names = Object.keys(operationKinds) as (keyof typeof operationKinds)[];
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
