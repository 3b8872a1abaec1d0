import { decodeUtf8, utf8MediaType } from '../base/body-text.js';
import { parseBoundedJson } from '../base/bounded-json.js';
import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';

export type InboundMediaType = 'json' | 'form';

const fieldsMax = 1_000;

/** Returns what a content type says, if it is one that any sender may use, in UTF-8. @throws EngineError `UNSUPPORTED_MEDIA_TYPE` */
export function mediaTypeOf(contentType: string | undefined): InboundMediaType {
  const type = utf8MediaType(contentType);
  if (type === 'application/json') return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  throw new EngineError(
    'UNSUPPORTED_MEDIA_TYPE',
    'content-type must be application/json, or a form for Slack, in UTF-8',
  );
}

/**
 * Parses the body of a verified sender. A form is an object of texts.
 * @throws EngineError `INPUT_INVALID`, which never quotes the body
 */
export function parseInboundBody(mediaType: InboundMediaType, body: Uint8Array): JsonValue {
  const text = decodeUtf8(body);
  return mediaType === 'json' ? parseBoundedJson(text) : parseForm(text);
}

function parseForm(text: string): JsonValue {
  const fields = [...new URLSearchParams(text)].filter(([name]) => name !== '__proto__');
  if (fields.length > fieldsMax) throw new EngineError('INPUT_INVALID', `the form has more than ${fieldsMax} fields`);
  if (new Set(fields.map(([name]) => name)).size < fields.length)
    throw new EngineError('INPUT_INVALID', 'the form has a field twice');
  return Object.fromEntries(fields);
}
