import { isJsonObject, type JsonValue } from '../../base/json.js';

/** Returns the text parts of a message in the names of 1.0, joined by a space, or undefined if there is no text. */
export function textIn(message: JsonValue | undefined): string | undefined {
  const parts = isJsonObject(message) ? message['parts'] : undefined;
  if (!Array.isArray(parts)) return undefined;
  const texts = (parts as readonly JsonValue[]).map((part) => (isJsonObject(part) ? part['text'] : undefined));
  const text = texts
    .filter((piece) => typeof piece === 'string')
    .join(' ')
    .trim();
  return text === '' ? undefined : text;
}
