import type { Dice } from './dice.js';
import type { Flow, Program, StepProgram } from './program.js';

/** Instants that several waits may share. */
const instants = [5, 30, 60, 90, 300, 300, 600, 1_200];

interface Room {
  readonly dice: Dice;
  /** The instant by which this workflow is to do all of its parts. */
  readonly deadline: number;
  readonly depth: number;
  readonly hasKids: boolean;
  /** Inside a shield nothing waits for long. */
  readonly isShort?: boolean;
  /** Whether the waits are for what happens outside of the turn. */
  readonly isOutside?: boolean;
}

export function drawFlow(dice: Dice, hasKids: boolean): Flow {
  const size = dice.int(1, hasKids ? 4 : 2);
  const room = { dice, depth: 2, hasKids, deadline: dice.pick(instants) };
  const parts = dice.chance(0.3) ? drawUntilDeadline(room, size + 2) : drawRow(room, size);
  return {
    body: parts.length === 1 ? parts[0]! : { kind: 'seq', parts },
    rounds: dice.chance(0.35) ? dice.int(1, 3) : 0,
    catches: dice.chance(0.15),
  };
}

/** Draws a part for a workflow that has others too. */
export function drawParts(dice: Dice): Program {
  return drawProgram({ dice, depth: 1, hasKids: true, deadline: dice.pick([5, 30, 60]) });
}

/** Draws parts in sequence, sometimes the same one again. */
function drawRow(room: Room, size: number): Program[] {
  const parts: Program[] = [];
  while (parts.length < size)
    parts.push(parts.length > 1 && room.dice.chance(0.4) ? room.dice.pick(parts) : drawProgram(room));
  return parts;
}

/** Draws parts that are all to be done by one instant: each may race against it, or be followed by it. */
function drawUntilDeadline(room: Room, size: number): Program[] {
  const { dice } = room;
  const at = dice.pick([60, 300, 300, 600, 1_200]);
  const wait = (): Program => drawLeaf({ ...room, isOutside: true });
  const draw = (): Program => {
    switch (dice.weighed({ race: 4, wait: 3, until: 3, other: 1 })) {
      case 'race':
        return { kind: dice.chance(0.85) ? 'race' : 'plainRace', parts: [{ kind: 'until', at }, wait()] };
      case 'wait':
        return wait();
      case 'until':
        return { kind: 'until', at };
      case 'other':
        return drawProgram({ ...room, depth: 1 });
    }
  };
  return Array.from({ length: size }, draw);
}

/** Draws a race, often one against a deadline. */
function drawRace(room: Room, others: readonly Program[]): Program[] {
  const { dice, deadline } = room;
  if (!dice.chance(0.6)) return [...others];
  return [
    others[0]!,
    dice.chance(0.7) ? { kind: 'until', at: deadline } : { kind: 'sleep', for: dice.pick([0, 1, 5, 70]) },
  ];
}

function drawProgram(room: Room): Program {
  const { dice, depth } = room;
  if (depth <= 0 || dice.chance(0.45)) return drawLeaf(room);
  const inner = { ...room, depth: depth - 1 };
  const one = (): Program => drawProgram(inner);
  const some = (from: number, to: number): Program[] => Array.from({ length: dice.int(from, to) }, one);
  switch (
    dice.weighed({
      seq: 2,
      all: 2,
      race: 4,
      plainRace: 2,
      some: 2.5,
      scope: 2,
      shield: 1.5,
      finally: 1.5,
      catch: 1,
      saga: 2.5,
      loop: 1,
      void: 1.5,
      patched: 1,
    })
  ) {
    case 'seq':
      return { kind: 'seq', parts: drawRow(inner, dice.int(2, 3)) };
    case 'all':
      return { kind: 'all', parts: some(2, 3) };
    case 'race':
      return { kind: 'race', parts: drawRace(inner, some(2, 3)) };
    case 'plainRace':
      return { kind: 'plainRace', parts: drawRace(inner, some(2, 2)) };
    case 'some': {
      const parts = some(2, 4);
      return { kind: 'some', needed: dice.int(1, parts.length), parts };
    }
    case 'scope':
      return { kind: 'scope', body: one(), after: dice.pick([0, 1, 3, 20]), quits: dice.chance(0.4) };
    case 'shield':
      return { kind: 'shield', body: drawProgram({ ...inner, isShort: true }) };
    case 'finally':
      return {
        kind: 'finally',
        body: one(),
        cleanup: { kind: 'shield', body: drawProgram({ ...inner, isShort: true, depth: 0 }) },
      };
    case 'catch':
      return { kind: 'catch', body: one(), instead: one() };
    case 'saga':
      return { kind: 'saga', takes: dice.pick([0, 1, 2]), rest: one() };
    case 'loop':
      return { kind: 'loop', times: dice.int(2, 3), body: drawProgram({ ...inner, depth: Math.min(1, inner.depth) }) };
    case 'void':
      return { kind: 'void', body: one() };
    case 'patched':
      return { kind: 'patched', old: one(), fresh: one() };
  }
}

function drawLeaf({ dice, hasKids, deadline, isShort = false, isOutside = false }: Room): Program {
  if (isShort) return dice.chance(0.6) ? drawStep(dice) : { kind: 'sleep', for: dice.int(0, 10) };
  switch (
    dice.weighed({
      step: isOutside ? 0 : 6,
      sleep: isOutside ? 0 : 2,
      until: isOutside ? 0 : 2.5,
      signal: 3,
      token: 1.5,
      ask: 0.5,
      remote: isOutside ? 16 : 4,
      child: hasKids ? 1.5 : 0,
      random: isOutside ? 0 : 0.3,
    })
  ) {
    case 'step':
      return drawStep(dice);
    case 'sleep':
      return { kind: 'sleep', for: dice.pick([0, 1, 2, 5, 20, 70, 200]) };
    case 'until':
      return { kind: 'until', at: dice.chance(0.6) ? deadline : dice.pick(instants) };
    case 'signal':
      return { kind: 'signal', name: dice.pick(['x', 'y'] as const), timeout: dice.pick([5, 20, 60, 150, 300]) };
    case 'token':
      return { kind: 'token', timeout: dice.pick([5, 20, 60, 150, 300]) };
    case 'ask': {
      const timeout = dice.pick([20, 150]);
      return { kind: 'ask', timeout, told: timeout === 150 ? 'both' : 'desk' };
    }
    case 'remote': {
      const tool = isOutside
        ? dice.pick(['quick', 'short', 'short', 'never'] as const)
        : dice.pick(['quick', 'short', 'short', 'slow', 'never', 'never'] as const);
      const timeout = dice.pick([30, 150, 400]);
      const hears = timeout === 150 ? 'at once' : timeout === 400 && tool !== 'never' ? 'slowly' : undefined;
      return { kind: 'remote', tool, timeout, leave: dice.chance(0.15), ...(hears === undefined ? {} : { hears }) };
    }
    case 'child':
      return {
        kind: 'child',
        close: dice.pick(['cancel', 'terminate', 'abandon', 'abandon'] as const),
        timeout: dice.pick([60, 200, 600]),
      };
    case 'random':
      return { kind: 'random' };
  }
}

function drawStep(dice: Dice): StepProgram {
  const fails = dice.chance(0.15) ? dice.int(1, 2) : 0;
  return {
    kind: 'step',
    takes: dice.pick([0, 0, 1, 1, 2, 3, 4, 6]),
    fails,
    ...(dice.chance(0.06) ? { fatal: true } : {}),
    ...(dice.chance(0.15) ? { once: true } : {}),
    ...(dice.chance(0.1) ? { deadline: dice.pick([1, 2, 5, 30]) } : {}),
    ...(dice.chance(0.06) ? { long: true } : {}),
    honours: dice.chance(0.5),
  };
}
