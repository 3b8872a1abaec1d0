// Text of a stranger as a part of source code. Pure.

import { cutUtf8, type JsonValue } from '../../base/json.js';
import { printable, printableJson } from '../printable.js';

const docMaxBytes = 400;

/** A literal. Holds no line break and nothing that reorders text. */
export function quoted(text: string): string {
  // Half of a surrogate pair cannot be written to a file as it is.
  return printableJson(text.toWellFormed());
}

/** The name of a property. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) && name !== '__proto__' ? name : quoted(name);
}

/** A comment of one line, which the text cannot end, and which no tool takes for a directive; undefined without a text. */
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
