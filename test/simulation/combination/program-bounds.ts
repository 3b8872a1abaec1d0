import type { Flow, Program } from './program.js';

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
    case 'askCaller':
    case 'message':
      return program.timeout + 120;
    case 'progress':
    case 'artifact':
    case 'reject':
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

export function flowBound({ body, rounds }: Flow): number {
  return boundOf(body) * (rounds + 1);
}
