import type { Dice } from './dice.js';

/** A workflow as data: drawn from a seed, printed, reduced part by part. Durations are in seconds. */
export type Program =
  | StepProgram
  | { readonly kind: 'sleep'; readonly for: number }
  /** An instant, counted from the start of the world. */
  | { readonly kind: 'until'; readonly at: number }
  | { readonly kind: 'signal'; readonly name: SignalName; readonly timeout: number }
  | { readonly kind: 'token'; readonly timeout: number }
  | { readonly kind: 'ask'; readonly timeout: number; readonly told: 'desk' | 'both' }
  | {
      readonly kind: 'remote';
      readonly tool: ToolName;
      readonly timeout: number;
      readonly leave: boolean;
      /** Whether a handler hears of changes of the task; `slowly`: it sleeps after each. */
      readonly hears?: 'at once' | 'slowly' | undefined;
    }
  | { readonly kind: 'child'; readonly close: ParentClose; readonly timeout: number }
  | { readonly kind: 'random' }
  /** Begun, and never awaited. */
  | { readonly kind: 'void'; readonly body: Program }
  | { readonly kind: 'seq' | 'all' | 'race' | 'plainRace'; readonly parts: readonly Program[] }
  /** The first `needed` of its parts. */
  | SomeProgram
  /** Begins the body in a scope, cancels it after that long, and awaits the body. `quits`: does not await it. */
  | { readonly kind: 'scope'; readonly body: Program; readonly after: number; readonly quits: boolean }
  | { readonly kind: 'shield'; readonly body: Program }
  | { readonly kind: 'finally'; readonly body: Program; readonly cleanup: Program }
  /** Catches everything, a cancel too, and continues. */
  | { readonly kind: 'catch'; readonly body: Program; readonly instead: Program }
  /** Books, registers the compensation, and does the rest. */
  | { readonly kind: 'saga'; readonly takes: number; readonly rest: Program }
  | { readonly kind: 'loop'; readonly times: number; readonly body: Program }
  /** The former code does one thing, the later one another where it may. */
  | { readonly kind: 'patched'; readonly old: Program; readonly fresh: Program };

export interface SomeProgram {
  readonly kind: 'some';
  readonly needed: number;
  readonly parts: readonly Program[];
}

export interface StepProgram {
  readonly kind: 'step';
  readonly takes: number;
  /** Number of attempts that fail. */
  readonly fails: number;
  /** Every attempt fails, and the failure is rethrown. */
  readonly fatal?: boolean;
  readonly once?: boolean;
  readonly deadline?: number;
  readonly long?: boolean;
  /** Whether it ends when its signal aborts. */
  readonly honours: boolean;
}

export type SignalName = 'x' | 'y';
export type ToolName = 'quick' | 'short' | 'slow' | 'never';
type ParentClose = 'cancel' | 'terminate' | 'abandon';

/** Running time of the task of each tool. */
export const tools: Readonly<Record<ToolName, number>> = { quick: 3, short: 25, slow: 120, never: 1e9 };

/** The parts of one workflow. */
export interface Flow {
  readonly body: Program;
  /** Number of times that it continues as a new run. */
  readonly rounds: number;
  /** Whether it catches a cancel at the outermost place and continues. */
  readonly catches: boolean;
}

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

/** Returns a rough upper bound of its duration in a quiet world. */
export function boundOf(program: Program): number {
  switch (program.kind) {
    case 'step':
      return (program.takes + 3) * (program.fails + 1) + (program.long === true ? 120 : 0);
    case 'sleep':
      return program.for + 60;
    case 'until':
      return program.at + 60;
    case 'signal':
    case 'token':
    case 'ask':
    case 'remote':
    case 'child':
      return program.timeout + 120;
    case 'random':
      return 0;
    case 'seq':
      return program.parts.reduce(boundAfter, 0);
    case 'all':
    case 'race':
    case 'plainRace':
    case 'some':
      return Math.max(...program.parts.map(boundOf));
    case 'void':
    case 'shield':
      return boundOf(program.body);
    case 'scope':
      return program.after + boundOf(program.body) + 60;
    case 'finally':
      return boundOf(program.body) + boundOf(program.cleanup);
    case 'catch':
      return boundOf(program.body) + boundOf(program.instead);
    case 'saga':
      return program.takes * 2 + 60 + boundOf(program.rest);
    case 'loop':
      return program.times * boundOf(program.body);
    case 'patched':
      return Math.max(boundOf(program.old), boundOf(program.fresh));
  }
}

/** Returns the bound of a program that runs after something of that length. An instant that has passed is no wait. */
function boundAfter(before: number, program: Program): number {
  if (program.kind === 'until') return Math.max(before, boundOf(program));
  if (!('parts' in program) || program.kind === 'seq' || program.kind === 'all') return before + boundOf(program);
  return Math.max(...program.parts.map((part) => boundAfter(before, part)));
}

/** Yields smaller programs that may show the same failure: its parts, and itself with one of them made smaller. */
export function* smaller(program: Program): Generator<Program> {
  switch (program.kind) {
    case 'step': {
      const { once, deadline, long, fatal, ...plain } = program;
      if (once === true) yield { ...program, once: false };
      if (long === true) yield { ...program, long: false };
      if (fatal === true) yield { ...program, fatal: false };
      if (deadline !== undefined) yield { ...plain, ...(once === true ? { once } : {}) };
      if (program.fails > 0) yield { ...program, fails: 0 };
      if (program.takes > 1) yield { ...program, takes: 1 };
      return;
    }
    case 'sleep':
      if (program.for > 1) yield { ...program, for: 1 };
      return;
    case 'until':
    case 'signal':
    case 'token':
    case 'ask':
      yield { kind: 'sleep', for: 1 };
      return;
    case 'child':
      yield { kind: 'sleep', for: 1 };
      return;
    case 'remote':
      yield { kind: 'sleep', for: 1 };
      if (program.leave) yield { ...program, leave: false };
      if (program.hears !== undefined) yield { ...program, hears: undefined };
      return;
    case 'random':
      return;
    case 'seq':
    case 'all':
    case 'race':
    case 'plainRace': {
      const { kind, parts } = program;
      yield* parts;
      for (const [at] of parts.entries())
        if (parts.length > 1) yield { kind, parts: parts.filter((_, other) => other !== at) };
      for (const [at, part] of parts.entries())
        for (const less of smaller(part))
          yield { kind, parts: parts.map((other, index) => (index === at ? less : other)) };
      return;
    }
    case 'some':
      yield* smallerSome(program);
      return;
    case 'loop':
      yield program.body;
      if (program.times > 2) yield { ...program, times: 2 };
      for (const body of smaller(program.body)) yield { ...program, body };
      return;
    case 'void':
    case 'scope':
    case 'shield':
      yield program.body;
      for (const body of smaller(program.body)) yield { ...program, body };
      return;
    case 'finally':
      yield program.body;
      yield program.cleanup;
      for (const body of smaller(program.body)) yield { ...program, body };
      for (const cleanup of smaller(program.cleanup)) yield { ...program, cleanup };
      return;
    case 'catch':
      yield program.body;
      yield program.instead;
      for (const body of smaller(program.body)) yield { ...program, body };
      for (const instead of smaller(program.instead)) yield { ...program, instead };
      return;
    case 'saga':
      yield program.rest;
      if (program.takes > 0) yield { ...program, takes: 0 };
      for (const rest of smaller(program.rest)) yield { ...program, rest };
      return;
    case 'patched':
      yield program.old;
      yield program.fresh;
      for (const old of smaller(program.old)) yield { ...program, old };
      for (const fresh of smaller(program.fresh)) yield { ...program, fresh };
  }
}

function* smallerSome({ kind, needed, parts }: SomeProgram): Generator<Program> {
  yield* parts;
  if (needed > 1) yield { kind, needed: needed - 1, parts };
  for (const [at] of parts.entries())
    if (parts.length > 1)
      yield { kind, needed: Math.min(needed, parts.length - 1), parts: parts.filter((_, other) => other !== at) };
  for (const [at, part] of parts.entries())
    for (const less of smaller(part))
      yield { kind, needed, parts: parts.map((other, index) => (index === at ? less : other)) };
}

/** Prints it as an author might have written it. */
export function print(program: Program): string {
  const list = (parts: readonly Program[]): string => parts.map(print).join(', ');
  switch (program.kind) {
    case 'step': {
      const { takes, fails, fatal, once, deadline, long, honours } = program;
      const words = [
        `${takes} s`,
        ...(fails > 0 ? [`fails ${fails}x`] : []),
        ...(fatal === true ? ['fatal'] : []),
        ...(once === true ? ['at most once'] : []),
        ...(deadline === undefined ? [] : [`deadline ${deadline} s`]),
        ...(long === true ? ['long'] : []),
        ...(honours ? ['honours its signal'] : []),
      ];
      return `step(${words.join(', ')})`;
    }
    case 'sleep':
      return `sleep(${program.for} s)`;
    case 'until':
      return `sleepUntil(second ${program.at})`;
    case 'signal':
      return `signal('${program.name}', timeout ${program.timeout} s)`;
    case 'token':
      return `externalToken(timeout ${program.timeout} s)`;
    case 'ask':
      return `ask(timeout ${program.timeout} s, told: ${program.told})`;
    case 'remote':
      return `remote(${program.tool} ${program.tool === 'never' ? '' : `${tools[program.tool]} s, `}timeout ${program.timeout} s${program.leave ? ', left on cancel' : ''}${program.hears === undefined ? '' : `, heard ${program.hears}`})`;
    case 'child':
      return `child(${program.close}, timeout ${program.timeout} s)`;
    case 'random':
      return 'random()';
    case 'void':
      return `void ${print(program.body)}`;
    case 'seq':
      return `[${program.parts.map(print).join('; ')}]`;
    case 'all':
      return `Promise.all(${list(program.parts)})`;
    case 'race':
      return `ctx.race(${list(program.parts)})`;
    case 'plainRace':
      return `Promise.race(${list(program.parts)})`;
    case 'some':
      return `ctx.some(${program.needed}, ${list(program.parts)})`;
    case 'scope':
      return `scope(${print(program.body)}, cancelled after ${program.after} s${program.quits ? ', not awaited' : ''})`;
    case 'shield':
      return `shield(${print(program.body)})`;
    case 'finally':
      return `try { ${print(program.body)} } finally { ${print(program.cleanup)} }`;
    case 'catch':
      return `try { ${print(program.body)} } catch { ${print(program.instead)} }`;
    case 'saga':
      return `saga(book ${program.takes} s; ${print(program.rest)})`;
    case 'loop':
      return `${program.times} times { ${print(program.body)} }`;
    case 'patched':
      return `patched ? ${print(program.fresh)} : ${print(program.old)}`;
  }
}
