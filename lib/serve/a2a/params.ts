// Parts of the parameters that both revisions share. A field that is null or, where empty says nothing, empty counts as
// missing, as in ProtoJSON.

import * as z from 'zod/mini';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { nameProblem } from '../../base/name.js';
import { historyLengthDefault, idMaxBytes } from './limits.js';

/** A text that can name something; whether it may be empty is up to its field. */
function nameOf(isEmptyAllowed: boolean) {
  return z.string().check(
    z.check(({ value, issues }) => {
      if (isEmptyAllowed && value === '') return;
      const message = nameProblem(value, { maxBytes: idMaxBytes });
      if (message !== undefined) issues.push({ code: 'custom', input: value, message });
    }),
  );
}

/** Returns the name of a field in JSON for its name in the proto file: `contextId` for `context_id`. */
export function jsonName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

/**
 * An object of the proto file. ProtoJSON asks parsers to take each field by its name there too, which some clients send.
 * A field that comes by both names has the value of that of JSON.
 */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.pipe(z.transform(withJsonNames), z.object(shape));
}

function withJsonNames(came: unknown): unknown {
  if (!isJsonObject(came)) return came;
  const others = Object.entries(came).filter(([name]) => name.includes('_'));
  if (others.length === 0) return came;
  return { ...Object.fromEntries(others.map(([name, value]) => [jsonName(name), value])), ...came };
}

/** A required id. */
export const id = nameOf(false);
/** An id that may be missing; read it with `given`. */
export const maybeId = z.nullish(nameOf(true));
export const maybeText = z.nullish(z.string());
export const object = z.custom<JsonObject>(isJsonObject, 'must be an object');
export const metadata = z.nullish(object);
/** Any JSON, but required. */
export const anyJson = z.custom<JsonValue>((value: unknown) => value !== undefined, 'is required');
const wholeNumber = z.int().check(z.gte(0));
export const historyLength = z.nullish(wholeNumber);
/** A 64-bit integer, which ProtoJSON writes as text. */
export const generation = z.nullish(
  z.union([wholeNumber, z.string().check(z.regex(/^\d{1,15}$/, 'must be a whole number'))]),
);

/** Returns the value of a field that may be missing, null or empty. */
export function given<Value>(value: Value | null | undefined): Value | undefined {
  return value === null || value === undefined || value === '' ? undefined : value;
}

export function givenNumber(value: number | string | null | undefined): number | undefined {
  const number = given(value);
  return number === undefined ? undefined : Number(number);
}

export function historyLengthOf(asked: number | null | undefined, fallback = historyLengthDefault): number {
  return asked ?? fallback;
}

/** Base64 as it is stored: ProtoJSON accepts the alphabet for URLs too, and leaves out the padding. */
export const base64 = z.string().check(z.regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'must be base64'));

export function normalBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('base64');
}
