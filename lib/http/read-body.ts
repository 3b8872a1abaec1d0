import { decodeUtf8, utf8MediaType } from '../base/body-text.js';
import { parseBoundedJson } from '../base/bounded-json.js';
import { EngineError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';

/** Limits of the body that a route accepts. */
export interface BodyRule {
  readonly maxBytes: number;
  /** Whether an empty body stands for `{}`. */
  readonly emptyAllowed?: boolean;
  /** Verifies the sender by the bytes of the body, before these are parsed. */
  readonly verify?: ((body: Uint8Array) => Promise<void>) | undefined;
}

/**
 * Reads the body as JSON. Checks in this order, and stops reading at the first failure: length, media type, sender,
 * encoding, depth and number of keys, JSON.
 * @throws EngineError `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`, `INPUT_INVALID`; and what `verify` throws
 */
export async function readJsonBody(request: Request, rule: BodyRule): Promise<JsonValue> {
  checkLength(request, rule.maxBytes);
  const mediaType = request.headers.get('content-type');
  if (mediaType !== null || rule.emptyAllowed !== true) checkMediaType(mediaType);
  const bytes = await readBytes(request, rule.maxBytes);
  await rule.verify?.(bytes);
  if (bytes.length === 0 && rule.emptyAllowed === true) return {};
  if (mediaType === null) checkMediaType(mediaType);
  return parseBoundedJson(decodeUtf8(bytes));
}

/** Checks the announced length of the body. @throws EngineError `PAYLOAD_TOO_LARGE` */
export function checkLength({ headers }: Request, maxBytes: number): void {
  const announced = headers.get('content-length');
  if (announced !== null && Number(announced) > maxBytes) throw tooLarge(maxBytes);
}

function checkMediaType(contentType: string | null): void {
  if (utf8MediaType(contentType) === 'application/json') return;
  throw new EngineError('UNSUPPORTED_MEDIA_TYPE', 'content-type must be application/json in UTF-8');
}

/** Reads the body as it came. @throws EngineError `PAYLOAD_TOO_LARGE` */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const body: AsyncIterable<Uint8Array> | null = request.body;
  if (body === null) return new Uint8Array();
  for await (const piece of body) {
    length += piece.length;
    // The announced length may be missing or wrong.
    if (length > maxBytes) throw tooLarge(maxBytes);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function tooLarge(maxBytes: number): EngineError {
  return new EngineError('PAYLOAD_TOO_LARGE', `the body must be at most ${maxBytes} bytes`, { details: { maxBytes } });
}
