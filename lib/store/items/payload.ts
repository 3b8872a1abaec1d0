import { gunzipSync, gzipSync } from 'node:zlib';
import { EngineError } from '../../base/errors.js';
import { type JsonValue, utf8Bytes } from '../../base/json.js';

/** Length from which payloads are compressed: gzip and base64 gain nothing for shorter ones. */
const payloadGzipFromBytes = 1 * 1024;
/** Largest inflated payload; a larger one is refused, since our own payloads are much smaller. */
const payloadInflatedMaxBytes = 8 * 1024 * 1024;

// Stored words: format version 1, then how the JSON text is packed.
const plain = '1j:';
const gzipped = '1z:';

/**
 * Encodes a payload in its stored format: JSON text, or gzip and base64 if that is shorter. Throws EngineError
 * `PAYLOAD_TOO_LARGE` for more than 8 MiB of JSON, which `decodePayload` would refuse.
 */
export function encodePayload(value: JsonValue): string {
  const json = JSON.stringify(value);
  const jsonBytes = utf8Bytes(json);
  if (jsonBytes > payloadInflatedMaxBytes) {
    throw new EngineError(
      'PAYLOAD_TOO_LARGE',
      `a payload may hold at most ${payloadInflatedMaxBytes} bytes, got ${jsonBytes}`,
    );
  }
  if (jsonBytes <= payloadGzipFromBytes) return plain + json;
  const packed = gzipSync(json).toString('base64');
  return packed.length < jsonBytes ? gzipped + packed : plain + json;
}

/**
 * Decodes a payload. Throws EngineError `HISTORY_FORMAT_UNKNOWN` if the format is unknown or the text is damaged, and
 * `PAYLOAD_TOO_LARGE` if it inflates to more than 8 MiB.
 */
export function decodePayload(text: string): JsonValue {
  const format = text.slice(0, plain.length);
  const body = text.slice(plain.length);
  if (format === plain) return parse(body);
  if (format === gzipped) return parse(inflate(body));
  throw new EngineError(
    'HISTORY_FORMAT_UNKNOWN',
    `a stored payload has the unknown format "${format}"; known formats: ${plain}, ${gzipped}`,
  );
}

function inflate(base64: string): string {
  try {
    return gunzipSync(Buffer.from(base64, 'base64'), { maxOutputLength: payloadInflatedMaxBytes }).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new EngineError('PAYLOAD_TOO_LARGE', `a stored payload inflates to over ${payloadInflatedMaxBytes} bytes`);
    }
    throw damaged();
  }
}

function parse(json: string): JsonValue {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    // The error of JSON.parse quotes the text, which is a payload.
    throw damaged();
  }
}

function damaged(): EngineError {
  return new EngineError('HISTORY_FORMAT_UNKNOWN', 'a stored payload is damaged');
}
