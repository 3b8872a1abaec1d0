import { fileURLToPath } from 'node:url';
import type { Edit, Mutant } from './mutant.js';
import { mutants } from './mutants.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the source of the mutant. @throws Error if a text to be replaced does not occur exactly once */
export function mutate(source: string, mutant: Mutant): string {
  return mutant.edits.reduce((text, edit) => replaceOnce(text, edit, mutant), source);
}

function replaceOnce(source: string, { find, replace }: Edit, mutant: Mutant): string {
  const pattern = patternOf(find);
  const found = [...source.matchAll(pattern)].length;
  if (found !== 1) {
    throw new Error(`mutant ${mutant.name}: in ${mutant.file} this occurs ${found} times, not once:\n${find}`);
  }
  return source.replace(pattern, () => replace);
}

/**
 * Matches `find` however a formatter breaks its lines: white space anywhere between words, and commas before a closing
 * bracket.
 */
function patternOf(find: string): RegExp {
  const tokens = find.replaceAll(/,\s*(?=[)\]}])/g, '').match(/\w+|[^\w\s]/g) ?? [];
  const parts = tokens.map((token, at) => {
    const text = /\w/.test(token) ? token : `\\${token}`;
    if (at === 0) return text;
    if (/[)\]}]/.test(token)) return `\\s*,?\\s*${text}`;
    return (/\w/.test(token) && /\w/.test(tokens[at - 1] ?? '') ? '\\s+' : '\\s*') + text;
  });
  return new RegExp(parts.join(''), 'g');
}

/** Returns the mutant with that name. @throws Error if there is none */
export function mutantNamed(name: string): Mutant {
  const mutant = mutants.find((other) => other.name === name);
  if (mutant === undefined) throw new Error(`no mutant is named "${name}"`);
  return mutant;
}

/** Creates a Vite plugin that loads the engine as the mutant with that name. */
export function mutation(name: string): {
  readonly name: string;
  readonly enforce: 'pre';
  transform(code: string, id: string): string | undefined;
} {
  const mutant = mutantNamed(name);
  return {
    name: `mutant-${name}`,
    enforce: 'pre',
    transform: (code, id) => (id.split('?')[0] === root + mutant.file ? mutate(code, mutant) : undefined),
  };
}
