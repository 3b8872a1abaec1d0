import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Option } from 'commander';
import type * as jsoncParser from 'jsonc-parser';
import { JsonBeyondLimits, parseBoundedJson } from '../base/bounded-json.js';
import type { JsonValue } from '../base/json.js';
import { inboundCompleteMaxBytes } from '../base/limits.js';
import { CliError, exitCodes } from './cli-error.js';

// Payloads on the command line: JSON itself, `@file`, or `-` for stdin. Parsers of options are synchronous, and so are
// these reads.

const excerptMaxChars = 60;

/** Creates an option whose value is JSON: inline, `@file`, or `-` for stdin. `flags` is such as `--input <json>`. */
export function jsonOption(flags: string, description: string): Option {
  const option = new Option(flags, `${description}: JSON, @file, or - for stdin`);
  return option.argParser((text: string, before: JsonValue | undefined) => {
    if (before !== undefined) throw new CliError(`${option.long ?? flags} is given twice`, exitCodes.usage);
    return jsonFrom(text, option.long ?? flags);
  });
}

/**
 * Returns the text of an argument: that of the file for `@file`, that of stdin for `-`, otherwise the argument itself.
 * @throws CliError (usage) that names what cannot be read
 */
export function textFrom(argument: string): string {
  if (argument === '-') return contentOf(0, 'stdin');
  if (!argument.startsWith('@')) return argument;
  const file = argument.slice(1);
  if (file === '') throw unreadable('the name of the file is missing after @');
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    throw unreadable(whyUnreadable(file, error));
  }
  try {
    return contentOf(descriptor, file);
  } finally {
    closeSync(descriptor);
  }
}

function jsonFrom(argument: string, option: string): JsonValue {
  let text: string;
  try {
    text = textFrom(argument);
  } catch (error) {
    if (error instanceof CliError) throw new CliError(`${option}: ${error.message}`, exitCodes.usage);
    throw error;
  }
  const source = argument === '-' ? 'stdin' : argument.startsWith('@') ? argument.slice(1) : undefined;
  try {
    return parseBoundedJson(text);
  } catch (error) {
    const why = error instanceof JsonBeyondLimits ? error.message : problemIn(text, source);
    throw new CliError(`${option}: ${why}`, exitCodes.usage);
  }
}

function problemIn(text: string, source: string | undefined): string {
  const what = source ?? 'the argument';
  if (text.trim() === '') return `${what} is empty. It must be JSON`;
  // Loaded for mistakes only. `JSON.parse` does not say where most of them are.
  const jsonc = createRequire(import.meta.url)('jsonc-parser') as typeof jsoncParser;
  const errors: jsoncParser.ParseError[] = [];
  jsonc.parse(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  const hint = source === undefined ? `, for example '{"month":"2026-11"}', or @file, or - for stdin` : '';
  if (first === undefined) return `${what} is not JSON. It must be JSON${hint}`;
  const { line, column, excerpt } = placeIn(text, first.offset);
  const code = jsonc.printParseErrorCode(first.error);
  const why = Object.hasOwn(reasons, code) ? (reasons[code] ?? code) : code;
  return `${what} is not JSON at line ${line}, column ${column}: ${why}. It must be JSON${hint}\n${excerpt}`;
}

/** What a parse error means, by the name that jsonc-parser gives it. */
const reasons: Readonly<Record<string, string>> = {
  InvalidSymbol: 'expected a value: text in double quotes, a number, true, false, null, { or [',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'expected a name in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma',
  CloseBraceExpected: 'expected a comma or }',
  CloseBracketExpected: 'expected a comma or ]',
  EndOfFileExpected: 'expected the end',
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'comments are not allowed',
  UnexpectedEndOfString: 'a text has no closing quote',
  UnexpectedEndOfNumber: 'a number ends too early',
  InvalidUnicode: 'this is not an escape of four hex digits',
  InvalidEscapeCharacter: 'this is not an escape',
  InvalidCharacter: 'a control character must be escaped',
};

/** Returns the place of an offset, with its line and a mark below it. */
function placeIn(text: string, offset: number): { line: number; column: number; excerpt: string } {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf('\n') + 1;
  const end = text.indexOf('\n', start);
  const whole = text.slice(start, end === -1 ? undefined : end).replace(/\r$/, '');
  const column = offset - start;
  const from = Math.max(0, column - excerptMaxChars / 2);
  const to = from + excerptMaxChars;
  const cutBefore = from > 0 ? '…' : '';
  const shown = `${cutBefore}${whole.slice(from, to)}${to < whole.length ? '…' : ''}`.replaceAll('\t', ' ');
  const mark = `${' '.repeat(cutBefore.length + column - from)}^`;
  return { line: before.split('\n').length, column: column + 1, excerpt: `  ${shown}\n  ${mark}` };
}

/** Reads to the end, but no more than the engine takes. @throws CliError */
function contentOf(descriptor: number, name: string): string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const read = readSome(descriptor, chunk, name);
    if (read === 0) break;
    bytes += read;
    if (bytes > inboundCompleteMaxBytes)
      throw unreadable(`${name} has more than the ${inboundCompleteMaxBytes / 1024 ** 2} MiB that the engine takes`);
    chunks.push(chunk.subarray(0, read));
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw unreadable(`${name} is not text in UTF-8`);
  }
}

function readSome(descriptor: number, chunk: Buffer, name: string): number {
  for (;;) {
    try {
      if (fstatSync(descriptor).isDirectory()) throw unreadable(`${name} is a folder`);
      return readSync(descriptor, chunk);
    } catch (error) {
      if (error instanceof CliError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw unreadable(whyUnreadable(name, error));
      // Another process has made stdin non-blocking, and nothing is there yet.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function whyUnreadable(name: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return code === 'ENOENT' ? `there is no file ${name}` : `${name} cannot be read (${code})`;
}

function unreadable(why: string): CliError {
  return new CliError(why, exitCodes.usage);
}
