import { tools, type Program } from './program.js';

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
    case 'progress':
    case 'reject':
      return `${program.kind}()`;
    case 'artifact':
      return `artifact(${program.of}${program.append ? ', append' : ''}${program.last ? ', last' : ''})`;
    case 'askCaller':
    case 'message':
      return `${program.kind}(timeout ${program.timeout} s)`;
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
