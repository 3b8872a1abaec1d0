import { EngineError } from './errors.js';
import type { JsonValue } from './json.js';
import { jsonMaxDepth, jsonMaxKeys } from './limits.js';

export interface JsonLimits {
  /** Nesting of arrays and objects; `[]` has depth 1. */
  readonly maxDepth: number;
  /** Keys of all objects together. */
  readonly maxKeys: number;
}

/** It may be JSON, but more than is parsed. */
export class JsonBeyondLimits extends EngineError {}

const defaultLimits: JsonLimits = { maxDepth: jsonMaxDepth, maxKeys: jsonMaxKeys };

/**
 * Parses JSON that came from outside. Depth and keys are counted on the text, before anything is built from it; the
 * length of the text is for the caller to bound. Keys that could reach a prototype are dropped. A number beyond those of
 * JavaScript is refused.
 * @throws EngineError `INPUT_INVALID` that names the limit, or says that it is not JSON; never quotes the text
 */
export function parseBoundedJson(text: string, limits: JsonLimits = defaultLimits): JsonValue {
  checkLimits(text, limits);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    // The message of a SyntaxError quotes the text.
    throw new EngineError('INPUT_INVALID', 'not valid JSON');
  }
  // It would be stored as null.
  if (holdsInfinity(value)) throw new JsonBeyondLimits('INPUT_INVALID', 'JSON has a number that is too large');
  return suspectKey.test(text) ? withoutPrototypeKeys(value) : value;
}

function holdsInfinity(value: JsonValue): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function checkLimits(text: string, { maxDepth, maxKeys }: JsonLimits): void {
  let depth = 0;
  let keys = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case openBracket:
      case openBrace:
        if (++depth > maxDepth)
          throw new JsonBeyondLimits('INPUT_INVALID', `JSON is nested deeper than ${maxDepth} levels`);
        break;
      case closeBracket:
      case closeBrace:
        depth--;
        break;
      case colon:
        if (++keys > maxKeys) throw new JsonBeyondLimits('INPUT_INVALID', `JSON has more than ${maxKeys} keys`);
        break;
    }
  }
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
