import type { Jsonify } from 'type-fest';

/** Any JSON value. Payloads of workflows, steps and remote tasks are always JSON. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** The type of a value after it was stored as JSON: a Date becomes a string, an undefined property is removed. */
export type Stored<Value> = unknown extends Value
  ? JsonValue | undefined
  : undefined extends Value
    ? Jsonify<Exclude<Value, undefined>> | undefined
    : Jsonify<Value>;

/**
 * The same type where JSON keeps the value, interfaces included; `never` in place of each part that it would lose: functions,
 * symbols, bigints, maps, sets, promises, errors. `void` counts as undefined.
 */
export type Storable<Value> = unknown extends Value
  ? Value
  : [Value] extends [JsonValue | undefined]
    ? Value
    : Value extends string | number | boolean | null | undefined | ReturnType<() => void> | { toJSON(): unknown }
      ? Value
      : Value extends
            | ((...given: never[]) => unknown)
            | ReadonlyMap<unknown, unknown>
            | ReadonlySet<unknown>
            | PromiseLike<unknown>
            | Error
            | RegExp
            | ArrayBufferView
        ? never
        : Value extends object
          ? { readonly [Name in keyof Value]: Storable<Value[Name]> }
          : never;

/**
 * Any type if JSON keeps `Value`. Otherwise a type that no value has: the compiler shows its message, and in place of
 * each part that would be lost `never`.
 */
export type OnlyStorable<Value> = [Value] extends [Storable<Value>]
  ? unknown
  : { readonly 'JSON would lose a part of this value': Storable<Value> };

/**
 * Returns JSON text with sorted keys: equal values give equal text, so its digests can be compared. Digests are stored,
 * so the text of a value must never change: names, also numeric ones, are in the order of their UTF-16 code units;
 * undefined is left out as by JSON.stringify.
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(elementText).join(',')}]`;
  const object = value as Readonly<Record<string, JsonValue | undefined>>;
  const members: string[] = [];
  for (const name of Object.keys(object).sort()) {
    const member = object[name];
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}

function elementText(element: JsonValue | undefined): string {
  return element === undefined ? 'null' : canonicalJson(element);
}

/**
 * Returns `value` after a round trip through JSON: replay will see this form, so the live run must see it too.
 * `undefined` stays undefined; an undefined property is left out, and `toJSON` is called, so a Date becomes a string.
 * @throws TypeError that names the path of a value that JSON would lose: a function, a symbol, a BigInt, a number that
 * is not finite, a Map, a Set, an Error, a Promise, a RegExp, binary data; or for a cycle
 */
export function toJson(value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value, function (this: unknown, _name: string, part: unknown) {
    const kind = kindThatIsLost(part);
    if (kind !== undefined) throw new TypeError(`${kind}${placeOf(value, part)} cannot be stored as JSON`);
    return part;
  });
  return JSON.parse(text) as JsonValue;
}

/** Converts like `toJson`, but drops what JSON cannot hold: used for the details of errors. */
export function toJsonAsFarAsItGoes(value: unknown): JsonValue | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
}

const lostObjects =
  /^\[object (Map|Set|WeakMap|WeakSet|Error|Promise|RegExp|ArrayBuffer|SharedArrayBuffer|DataView|\w+Array)\]$/;

function kindThatIsLost(part: unknown): string | undefined {
  if (typeof part === 'function' || typeof part === 'symbol' || typeof part === 'bigint') return `a ${typeof part}`;
  if (typeof part === 'number') return Number.isFinite(part) ? undefined : String(part);
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined;
  const [, kind] = lostObjects.exec(Object.prototype.toString.call(part)) ?? [];
  return kind === undefined ? undefined : `${/^[AE]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

/**
 * Returns the path of `part` in `value`, ` at a.b.0`; empty for the value itself, and for a part that a `toJSON`
 * returned.
 */
function placeOf(value: unknown, part: unknown): string {
  const path = pathTo(value, part, new Set());
  return path === undefined || path.length === 0 ? '' : ` at ${path.join('.')}`;
}

function pathTo(value: unknown, part: unknown, seen: Set<unknown>): string[] | undefined {
  if (Object.is(value, part)) return [];
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined;
  seen.add(value);
  for (const [name, inner] of Object.entries(value)) {
    const rest = pathTo(inner, part, seen);
    if (rest !== undefined) return [name, ...rest];
  }
  return undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const encoder = new TextEncoder();

/** Returns the length of `text` in UTF-8 bytes. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** Cuts `text` to at most `maxBytes` of UTF-8, never inside a character. */
export function cutUtf8(text: string, maxBytes: number): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // 10xxxxxx is a continuation byte.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end));
}
