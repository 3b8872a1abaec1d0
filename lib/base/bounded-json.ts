import { EngineError } from './errors.js';
import { cutUtf8, type JsonValue } from './json.js';
import { jsonMaxDepth, jsonMaxKeys, jsonMaxParts } from './limits.js';

export interface JsonLimits {
  /** Nesting of arrays and objects; `[]` has depth 1. */
  readonly maxDepth: number;
  /** Keys of all objects together. Default: no bound of their own. */
  readonly maxKeys?: number;
  /** Keys, objects and arrays together. Default: no bound. */
  readonly maxParts?: number;
}

/** It may be JSON, but more than is parsed. */
export class JsonBeyondLimits extends EngineError {}

const replyLimits: JsonLimits = { maxDepth: jsonMaxDepth, maxParts: jsonMaxParts };
const defaultLimits: JsonLimits = { ...replyLimits, maxKeys: jsonMaxKeys };

/**
 * Parses JSON that came from outside. Depth and keys are counted on the text, before anything is built from it; the
 * length of the text is for the caller to bound. Keys that could reach a prototype are dropped. A number beyond those of
 * JavaScript is refused.
 * @throws EngineError `INPUT_INVALID` that names the limit, or says that it is not JSON; never quotes the text
 */
export function parseBoundedJson(text: string, limits: JsonLimits = defaultLimits): JsonValue {
  const mayOverflow = checkLimits(text, limits);
  const value = parsed(text);
  // It would be stored as null.
  if (mayOverflow && holdsInfinity(value))
    throw new JsonBeyondLimits('INPUT_INVALID', 'JSON has a number that is too large');
  return suspectKey.test(text) ? withoutPrototypeKeys(value) : value;
}

/** What a remote server has sent. */
export interface ReplyJson {
  readonly value: JsonValue;
  /** The first number in it that is beyond those of JavaScript, which has read it as an infinity. */
  readonly overflow?: NumberOverflow;
}

export interface NumberOverflow {
  /** Where it stands: `result.rows[3].mass`. */
  readonly path: string;
  /** As it was written. */
  readonly number: string;
}

/**
 * Parses the reply of a remote server: within bounds, once, and as it came. Keys that could reach a prototype are kept as
 * keys of their own, since they may be somebody's data.
 * @throws as parseBoundedJson does, but for numbers
 */
export function parseReplyJson(text: string): ReplyJson {
  const mayOverflow = checkLimits(text, replyLimits);
  const value = parsed(text);
  const overflow = mayOverflow && holdsInfinity(value) ? overflowIn(text) : undefined;
  return { value, ...(overflow === undefined ? {} : { overflow }) };
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
  return isArray(value) ? value.some(holdsInfinity) : Object.values(value).some(holdsInfinity);
}

/** Looks for it in the text, which is valid JSON and not too deep. */
function overflowIn(text: string): NumberOverflow | undefined {
  /** Of each open array the place of the current item, of each open object the current key. */
  const open: (number | string | undefined)[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[[\]{},]|-?[0-9][-+.0-9eE]*/g;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    const last = open.length - 1;
    const place = open[last];
    if (found === '[') open.push(0);
    else if (found === '{') open.push(undefined);
    else if (found === ']' || found === '}') open.pop();
    else if (found === ',') open[last] = typeof place === 'number' ? place + 1 : undefined;
    else if (found.startsWith('"')) {
      if (last >= 0 && place === undefined) open[last] = JSON.parse(found) as string;
    } else if (!Number.isFinite(Number(found))) return { path: pathOf(open), number: cutUtf8(found, 128) };
  }
  return undefined;
}

function pathOf(open: readonly (number | string | undefined)[]): string {
  const steps = open.map((place) => {
    if (typeof place === 'number') return `[${place}]`;
    return /^[A-Za-z_$][\w$]*$/.test(place ?? '') ? `.${place ?? ''}` : `[${JSON.stringify(place)}]`;
  });
  return cutUtf8(steps.join('').replace(/^\./, ''), 512);
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const smallE = 0x65;
const capitalE = 0x45;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** Digits: with fewer a number has to have an exponent to be too large. */
const longestSafeNumber = 300;

/** Counts in one pass. True if a number may be beyond those of JavaScript: it has an exponent, or very many digits. */
function checkLimits(text: string, { maxDepth, maxKeys = Infinity, maxParts = Infinity }: JsonLimits): boolean {
  let depth = 0;
  let keys = 0;
  let parts = 0;
  let mayOverflow = false;
  /** Where the number that may stand here begins at the earliest. */
  let tokenAt = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        tokenAt = at;
        break;
      case openBracket:
      case openBrace:
        if (++depth > maxDepth)
          throw new JsonBeyondLimits('INPUT_INVALID', `JSON is nested deeper than ${maxDepth} levels`);
        parts++;
        tokenAt = at;
        break;
      case closeBracket:
      case closeBrace:
        depth--;
        mayOverflow ||= at - tokenAt > longestSafeNumber;
        tokenAt = at;
        break;
      case comma:
        mayOverflow ||= at - tokenAt > longestSafeNumber;
        tokenAt = at;
        break;
      case colon:
        if (++keys > maxKeys) throw new JsonBeyondLimits('INPUT_INVALID', `JSON has more than ${maxKeys} keys`);
        parts++;
        tokenAt = at;
        break;
      case smallE:
      case capitalE:
        // In "true" and "false" a letter is before it.
        mayOverflow ||= isDigitOrPoint(text.charCodeAt(at - 1));
        break;
    }
    if (parts > maxParts)
      throw new JsonBeyondLimits('INPUT_INVALID', `JSON has more than ${maxParts} keys, objects and arrays`);
  }
  return mayOverflow || text.length - tokenAt > longestSafeNumber;
}

function isDigitOrPoint(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

/** Index of the closing quote of the string that opens at `start`; the end of the text when there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === quote) return at;
  }
  return text.length;
}

/** Cheap first look; `\u` because a key can be written in escapes. */
const suspectKey = /__proto__|constructor|\\u/;

/** The depth is bounded, so recursion is too. */
function withoutPrototypeKeys(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) return value.map(withoutPrototypeKeys);
  const kept = Object.entries(value).filter(([key, inner]) => !reachesPrototype(key, inner));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutPrototypeKeys(inner)]));
}

/** `constructor` alone is an ordinary word; with a `prototype` inside it is an attack. */
function reachesPrototype(key: string, value: JsonValue): boolean {
  if (key === '__proto__') return true;
  return key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
