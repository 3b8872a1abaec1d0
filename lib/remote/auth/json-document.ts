import { parseBoundedJson } from '../../base/bounded-json.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';

/** A JSON object of an authorization server, or of a server's metadata; undefined for anything else. */
export function jsonDocument(text: string): JsonObject | undefined {
  try {
    const value = parseBoundedJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
