import type { Dice } from '../dice.js';
import { drawMoment } from '../draw-entries.js';
import { drawParts } from '../draw-program.js';
import { flowBound } from '../program-bounds.js';
import type { Flow, Program } from '../program.js';
import type { Case, Entry, Faults } from '../timetable.js';
import type { ReceiverKind, Served, ServedRequest } from './served.js';

const flowBoundMax = 900;

/** Makes the workflows of a case served ones too, with callers of their own. Drawn from dice of its own. */
export function drawServed(given: Case, dice: Dice): Case {
  const served: Served = {
    desk: drawServedFlow(dice),
    chat: drawServedFlow(dice),
    deskQueues: dice.chance(0.3),
    receivers: Array.from({ length: 2 }, () =>
      dice.pick<ReceiverKind>(['ok', 'ok', 'down', 'gone', 'slow', 'picky', 'locked']),
    ),
  };
  // Items that are missing and thousands of signals are told apart elsewhere.
  const others = given.entries.filter(({ what }) => what !== 'lose' && what !== 'burst');
  const left = dice.chance(0.6) ? others.filter(({ what }) => !what.startsWith('start') && what !== 'deliver') : others;
  const entries = [...left, ...drawServedEntries(dice)].sort((a, b) => a.at - b.at);
  const faults = dice.chance(0.35) ? drawServedFaults(dice) : given.faults;
  return { ...given, served, entries, faults };
}

/** Aims faults at the writes that only served workflows make. */
function drawServedFaults(dice: Dice): Faults {
  const of = [
    dice.pick(['crash', 'crashAfter', 'lostAck', 'lateApply', 'freeze3', 'freeze100', 'throttle', 'refused'] as const),
  ];
  const at = dice.pick([
    ['answer'],
    ['pushes'],
    ['pushes', 'commit'],
    ['answer', 'inbox'],
    ['commit'],
    ['heads'],
  ] as const);
  const rate = dice.pick([0.1, 0.3, 1]);
  return { kind: 'dice', rate, of, end: 300, at, ...(rate === 1 ? { nth: dice.int(1, 12) } : {}) };
}

function drawServedFlow(dice: Dice): Flow {
  for (;;) {
    const parts = Array.from({ length: dice.int(1, 5) }, () => drawServedProgram(dice, 1));
    const flow: Flow = {
      body: parts.length === 1 ? parts[0]! : { kind: 'seq', parts },
      rounds: dice.chance(0.4) ? dice.int(1, 2) : 0,
      catches: dice.chance(0.25),
    };
    if (flowBound(flow) <= flowBoundMax) return flow;
  }
}

function drawServedProgram(dice: Dice, depth: number): Program {
  const inner = (): Program => drawServedProgram(dice, depth - 1);
  switch (
    dice.weighed({
      progress: 3,
      artifact: 3,
      askCaller: 3.5,
      message: 3,
      reject: 0.2,
      sleep: 2,
      plain: 2.5,
      all: depth > 0 ? 1 : 0,
      race: depth > 0 ? 1 : 0,
      catch: depth > 0 ? 0.7 : 0,
    })
  ) {
    case 'progress':
      return { kind: 'progress' };
    case 'artifact':
      return {
        kind: 'artifact',
        of: dice.pick(['a', 'b'] as const),
        append: dice.chance(0.7),
        last: dice.chance(0.4),
      };
    case 'askCaller':
      return { kind: 'askCaller', timeout: dice.pick([5, 40, 40, 150]) };
    case 'message':
      return { kind: 'message', timeout: dice.pick([3, 30, 30, 100]) };
    case 'reject':
      return { kind: 'reject' };
    case 'sleep':
      return { kind: 'sleep', for: dice.pick([0, 1, 3, 10, 40]) };
    case 'plain':
      return drawParts(dice);
    case 'all':
      return { kind: 'all', parts: [inner(), inner()] };
    case 'race':
      return { kind: 'race', parts: [inner(), inner()] };
    case 'catch':
      return { kind: 'catch', body: inner(), instead: inner() };
  }
}

function drawServedEntries(dice: Dice): readonly Entry[] {
  const entries: Entry[] = [];
  const add = (at: number, request: ServedRequest, after?: Entry['after']): void => {
    entries.push({ at: Math.round(at * 1_000) / 1_000, ...(after === undefined ? {} : { after }), ...request });
  };
  const starts = dice.int(1, 4);
  for (let n = 0; n < starts; n++) {
    const at = n === 0 ? 0 : dice.int(0, dice.pick([2_000, 30_000])) / 1_000;
    const start = drawStart(dice);
    add(at, start);
    if (dice.chance(0.4)) add(at + dice.pick([0, 0.02, 1, 60]), start);
  }
  for (let bunches = dice.int(2, 6); bunches > 0; bunches--) {
    const after = dice.chance(0.4) ? drawMoment(dice) : undefined;
    const base = after === undefined ? dice.int(0, dice.pick([8_000, 60_000, 250_000])) / 1_000 : 0;
    const near = dice.pick([0.03, 0.3, 2, 10]);
    const task = dice.int(0, 3);
    for (let n = dice.int(1, 4); n > 0; n--)
      add(
        base + (dice.int(0, 1_000) / 1_000) * near,
        drawRequest(dice, dice.chance(0.7) ? task : dice.int(0, 3)),
        after,
      );
  }
  for (let n = dice.int(0, 2); n > 0; n--) {
    const leaves = Array.from({ length: dice.int(1, 5) }, () => dice.pick([0.2, 1, 3, 12, 40, 180]));
    const from = dice.pick(['cursor', 'cursor', 'snapshot'] as const);
    add(dice.int(0, 10_000) / 1_000, { what: 'watch', task: dice.int(0, 2), leaves, from });
  }
  return entries;
}

function drawStart(dice: Dice): Extract<ServedRequest, { what: 'task' }> {
  return {
    what: 'task',
    by: dice.pick([0, 0, 0, 1]),
    skill: dice.pick(['desk', 'chat'] as const),
    ...(dice.chance(0.6) ? { key: dice.pick(['t1', 't2', 't3']) } : {}),
    ...(dice.chance(0.6) ? { context: dice.pick(['c1', 'c1', 'c2']) } : {}),
    ...(dice.chance(0.4) ? { push: dice.int(0, 1) } : {}),
  };
}

function drawRequest(dice: Dice, task: number): ServedRequest {
  const on = { task, ...(dice.chance(0.07) ? { foreign: true as const } : {}) };
  const what = dice.weighed({
    task: 1,
    followUp: 7,
    cancelTask: 2,
    readTask: 1.5,
    awaitTask: 0.7,
    listTasks: 0.7,
    putPush: 2,
    dropPush: 0.7,
  });
  switch (what) {
    case 'task':
      return drawStart(dice);
    case 'followUp':
      return { what, ...on, id: `m${dice.int(1, 5)}`, names: dice.chance(0.5), blocks: dice.chance(0.3) };
    case 'cancelTask':
    case 'readTask':
    case 'awaitTask':
      return { what, ...on };
    case 'listTasks':
      return { what, by: dice.int(0, 1) };
    case 'putPush':
      return { what, ...on, id: dice.pick(['p1', 'p1', 'p2']), receiver: dice.int(0, 1) };
    case 'dropPush':
      return { what, ...on, id: dice.pick(['p1', 'p2']) };
  }
}
