// Embeds untrusted text in source code. Pure.

import { cutUtf8, type JsonValue } from '../../base/json.js';
import { printable, printableJson } from '../printable.js';

const docMaxBytes = 400;

/** Returns a string literal without line breaks and characters that reorder text. */
export function quoted(text: string): string {
  // Half of a surrogate pair cannot be written to a file.
  return printableJson(text.toWellFormed());
}

/** Returns the name of a property, quoted if necessary. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) && name !== '__proto__' ? name : quoted(name);
}

/** Returns a one-line comment that the text cannot end or turn into a directive; undefined if there is no text. */
export function docComment(text: JsonValue | undefined): string | undefined {
  if (typeof text !== 'string') return undefined;
  const line = printable(cutUtf8(text.toWellFormed(), docMaxBytes).replaceAll(/\s+/g, ' ').trim())
    .replaceAll('*/', '* /')
    .replaceAll('/*', '/ *')
    .replaceAll(/@(?=\w)/g, '@ ')
    .replace(/[*/]+$/, '')
    .trim();
  return line === '' ? undefined : `/** ${line} */`;
}
