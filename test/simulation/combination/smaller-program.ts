import type { Program, SomeProgram } from './program.js';

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
    case 'askCaller':
    case 'message':
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
    case 'progress':
    case 'artifact':
    case 'reject':
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
