/** What JSON can hold. Payloads of workflows, steps and remote tasks are JSON and nothing else. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/**
 * JSON text with sorted keys: equal values give equal text, so a digest of it can be compared. Digests are stored, so the
 * text of a value never changes: names in the order of their UTF-16 code units, also those that are numbers; what is
 * undefined is left out, as JSON.stringify does.
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
 * What is left of `value` after a trip through JSON: the form that replay will see, so the live run sees it too.
 * `undefined` stays undefined. Throws a TypeError for what JSON cannot hold (a function, a cycle, a BigInt).
 */
export function toJson(value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be stored as JSON`);
  return JSON.parse(text) as JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const encoder = new TextEncoder();

/** Length of `text` in UTF-8 bytes. */
export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text);
}

/** `text` cut to at most `maxBytes` of UTF-8, never inside a character. */
export function cutUtf8(text: string, maxBytes: number): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // 10xxxxxx marks the inside of a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end));
}
