import { parseBoundedJson } from '../../base/bounded-json.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';

/** Parses a metadata document or a reply of an authorization server; returns undefined if it is not a JSON object. */
export function jsonDocument(text: string): JsonObject | undefined {
  try {
    const value = parseBoundedJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
