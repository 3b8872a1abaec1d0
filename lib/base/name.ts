import { EngineError } from './errors.js';
import { utf8Bytes } from './json.js';

/** Longest name: in UTF-8 bytes where it is part of a key of the table, otherwise in characters. */
export type NameLength = { readonly maxBytes: number } | { readonly maxChars: number };

// Matches control characters (NUL, tab, line breaks), format characters (zero width, direction), line and paragraph
// separators.
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
// Matches text of spaces of any kind and invisible letters only.
const blank = /^[\s\p{Z}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/**
 * Returns what is wrong with a name from outside (a key, an id, the name of a signal or a tag), or undefined if it is
 * valid. Names that look the same to people should be the same, and each should be visible in a list or a log.
 *
 * Names are compared code point by code point and kept unchanged: they are neither normalized nor trimmed, since runs
 * are found under names that were accepted before.
 */
export function nameProblem(name: string, length: NameLength): string | undefined {
  const isBytes = 'maxBytes' in length;
  const [max, unit] = isBytes ? [length.maxBytes, 'bytes'] : [length.maxChars, 'characters'];
  const size = isBytes ? utf8Bytes(name) : name.length;
  if (size === 0 || size > max) return `must be 1 to ${max} ${unit}, got ${size}`;
  if (!name.isWellFormed()) return 'must be well-formed text, got half of a surrogate pair';
  const [found] = unseen.exec(name) ?? [];
  if (found !== undefined) return `must not contain control or invisible characters, got ${codePoint(found)}`;
  if (blank.test(name))
    return `must contain a visible character, got ${Array.from(name.slice(0, 4), codePoint).join(' ')}`;
  return undefined;
}

/** Throws if the name is not valid. @throws EngineError `INPUT_INVALID` that says what is wrong with `what` */
export function checkName(name: string, what: string, length: NameLength): void {
  const problem = nameProblem(name, length);
  if (problem !== undefined) throw new EngineError('INPUT_INVALID', `${what} ${problem}`);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
