import { EngineError } from './errors.js';
import { cutUtf8, type JsonValue } from './json.js';

/** Limits for JSON from outside, counted before it is parsed. */
const jsonMaxDepth = 64;
const jsonMaxKeys = 10_000;
/** Keys, objects and arrays together: they determine the cost of parsing. Replies have no separate limit for keys. */
const jsonMaxParts = 200_000;
const jsonMaxValues = 100_000;

export interface JsonLimits {
  /** Nesting of arrays and objects; `[]` has depth 1. */
  readonly maxDepth: number;
  /** Keys of all objects together. Default: no separate limit. */
  readonly maxKeys?: number;
  /** Keys, objects and arrays together. Default: no limit. */
  readonly maxParts?: number;
  /** Values that follow another one in their array or object; a few more may be first in theirs. Default: no limit. */
  readonly maxValues?: number;
}

/** Thrown for text that may be JSON but exceeds a limit. */
export class JsonBeyondLimits extends EngineError {}

const replyLimits: JsonLimits = { maxDepth: jsonMaxDepth, maxParts: jsonMaxParts };
const defaultLimits: JsonLimits = { ...replyLimits, maxKeys: jsonMaxKeys };
/** Limits for JSON of callers. A schema says of each value what is wrong with it, and that takes a hundred times its bytes. */
export const callerLimits: JsonLimits = { ...defaultLimits, maxValues: jsonMaxValues };

/**
 * Parses JSON from outside. Depth and keys are counted on the text, before anything is built from it; the caller limits
 * the length of the text. Keys that could reach a prototype are dropped. A number too large for JavaScript is refused.
 * @throws EngineError `INPUT_INVALID` that names the limit, or says that the text is not JSON; never quotes the text
 */
export function parseBoundedJson(text: string, limits: JsonLimits = defaultLimits): JsonValue {
  const mayOverflow = checkLimits(text, limits);
  const value = parsed(text);
  // Infinity would be stored as null.
  if (mayOverflow && holdsInfinity(value))
    throw new JsonBeyondLimits('INPUT_INVALID', 'JSON has a number that is too large');
  return suspectKey.test(text) ? withoutPrototypeKeys(value) : value;
}

/** The parsed reply of a remote server. */
export interface ReplyJson {
  readonly value: JsonValue;
  /** The first number that is too large for JavaScript, which reads it as an infinity. */
  readonly overflow?: NumberOverflow;
}

export interface NumberOverflow {
  /** Path of the number, such as `result.rows[3].mass`. */
  readonly path: string;
  /** The number as the text has it. */
  readonly number: string;
}

/**
 * Parses the reply of a remote server within limits, and unchanged. Keys that could reach a prototype are kept as own
 * keys, since they may be data.
 * @throws EngineError as `parseBoundedJson`, except for numbers
 */
export function parseReplyJson(text: string): ReplyJson {
  const mayOverflow = checkLimits(text, replyLimits);
  const value = parsed(text);
  const overflow = mayOverflow && holdsInfinity(value) ? overflowIn(text) : undefined;
  return overflow === undefined ? { value } : { value, overflow };
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // The message of a SyntaxError quotes the text.
    throw new EngineError('INPUT_INVALID', 'not valid JSON');
  }
}

export function holdsInfinity(value: JsonValue): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return false;
  for (const inner of isArray(value) ? value : Object.values(value)) {
    // Numbers are checked here, without a call: there may be a million of them.
    if (typeof inner === 'number' ? !Number.isFinite(inner) : holdsInfinity(inner)) return true;
  }
  return false;
}

/** Finds the first overflowing number in the text, which is valid JSON within the limit of depth. */
function overflowIn(text: string): NumberOverflow | undefined {
  /** The value of `place` outside each open array or object. */
  const around: number[] = [];
  /** Index of the item in an array; in an object -1 before a key, then -2 minus the offset of the key. */
  let place = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    switch (code) {
      case 0x5b: // [
      case 0x7b: // {
        around.push(place);
        place = code === 0x5b ? 0 : -1;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        place = around.pop() ?? 0;
        break;
      case 0x2c: // ,
        place = place < 0 ? -1 : place + 1;
        break;
      case 0x22: // "
        if (place === -1) place = -2 - at;
        at = endOfString(text, at);
        break;
      default: {
        if (!isDigit(code) && code !== 0x2d) break;
        const start = at;
        for (; at + 1 < text.length; at++) if (!isOfNumber(text.charCodeAt(at + 1))) break;
        // The shortest overflowing number is 1e309.
        if (at - start < 4 || Number.isFinite(Number(text.slice(start, at + 1)))) break;
        return { path: pathOf(text, [...around, place].slice(1)), number: cutUtf8(text.slice(start, at + 1), 128) };
      }
    }
  }
  return undefined;
}

function keyAt(text: string, start: number): string {
  return JSON.parse(text.slice(start, endOfString(text, start) + 1)) as string;
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x2d || code === 0x2b || code === 0x65 || code === 0x45;
}

function pathOf(text: string, places: readonly number[]): string {
  const steps = places.map((place) => {
    if (place >= 0) return `[${place}]`;
    const key = keyAt(text, -2 - place);
    return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  });
  return cutUtf8(steps.join('').replace(/^\./, ''), 512);
}

/** Digits in a row up to which a number with an exponent below 100 cannot overflow. */
const longestSafeDigits = 200;

// Character codes are literals below: a module constant would be loaded again for each of four million characters.

/**
 * Checks the limits in one pass. Returns true if a number may overflow: its exponent has three digits, or it has very
 * many digits.
 */
function checkLimits(text: string, limits: JsonLimits): boolean {
  const { maxDepth, maxKeys = Infinity, maxParts = Infinity, maxValues = Infinity } = limits;
  let depth = 0;
  let keys = 0;
  let parts = 0;
  let commas = 0;
  /** Digits in a row. */
  let digits = 0;
  let mayOverflow = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) {
      if (++digits > longestSafeDigits) mayOverflow = true;
      continue;
    }
    digits = 0;
    switch (code) {
      case 0x22: // "
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxDepth)
          throw new JsonBeyondLimits('INPUT_INVALID', `JSON is nested deeper than ${maxDepth} levels`);
        if (++parts > maxParts) throw tooManyParts(maxParts);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      case 0x3a: // :
        if (++keys > maxKeys) throw new JsonBeyondLimits('INPUT_INVALID', `JSON has more than ${maxKeys} keys`);
        if (++parts > maxParts) throw tooManyParts(maxParts);
        break;
      case 0x2c: // ,
        if (++commas >= maxValues)
          throw new JsonBeyondLimits('INPUT_INVALID', `JSON has more than ${maxValues} values`);
        break;
      case 0x65: // e
      case 0x45: // E
        if (isLongExponent(text, at + 1)) mayOverflow = true;
        break;
    }
  }
  return mayOverflow;
}

function tooManyParts(maxParts: number): JsonBeyondLimits {
  return new JsonBeyondLimits('INPUT_INVALID', `JSON has more than ${maxParts} keys, objects and arrays`);
}

/** Whether an exponent of three digits starts here. The `e` of "true" and "false" is not followed by digits. */
function isLongExponent(text: string, start: number): boolean {
  const at = text.charCodeAt(start) === 0x2b ? start + 1 : start;
  return isDigit(text.charCodeAt(at)) && isDigit(text.charCodeAt(at + 1)) && isDigit(text.charCodeAt(at + 2));
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/**
 * Returns the index of the closing quote of the string that opens at `start`, or the end of the text if there is none.
 */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at;
  }
  return text.length;
}

/** Cheap first check; `\u` because a key can be written with escapes. */
const suspectKey = /__proto__|constructor|\\u/;

/** Removes the keys that could reach a prototype. Recursion is bounded by the limit of depth. */
function withoutPrototypeKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) return value.map(withoutPrototypeKeys);
  const kept = Object.entries(value).filter(([key, inner]) => !reachesPrototype(key, inner));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutPrototypeKeys(inner)]));
}

/**
 * Whether the key could reach a prototype. `constructor` alone is an ordinary word; with a `prototype` inside it is an
 * attack.
 */
function reachesPrototype(key: string, value: JsonValue): boolean {
  if (key === '__proto__') return true;
  return key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
