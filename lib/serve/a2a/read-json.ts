import { decodeUtf8, utf8MediaType } from '../../base/body-text.js';
import { JsonBeyondLimits, parseBoundedJson } from '../../base/bounded-json.js';
import type { JsonValue } from '../../base/json.js';
import { checkLength, readBytes } from '../../http/read-body.js';
import { A2aError } from './errors.js';
import { requestMaxBytes } from './limits.js';

/**
 * Reads the body of a request as JSON; undefined if it is empty.
 * @throws A2aError `CONTENT_TYPE_NOT_SUPPORTED`, `PARSE_ERROR`, `INVALID_REQUEST`; EngineError `PAYLOAD_TOO_LARGE`
 */
export async function readJson(request: Request, mediaTypes: readonly string[]): Promise<JsonValue | undefined> {
  checkLength(request, requestMaxBytes);
  const contentType = request.headers.get('content-type');
  const isKnown = mediaTypes.includes(utf8MediaType(contentType) ?? '');
  // A request without a body may leave out its type.
  if (!isKnown && contentType !== null) throw wrongType(mediaTypes);
  const bytes = await readBytes(request, requestMaxBytes);
  if (bytes.length === 0) return undefined;
  if (!isKnown) throw wrongType(mediaTypes);
  try {
    return parseBoundedJson(decodeUtf8(bytes));
  } catch (error) {
    const { message } = error as Error;
    throw new A2aError(error instanceof JsonBeyondLimits ? 'INVALID_REQUEST' : 'PARSE_ERROR', message);
  }
}

function wrongType(mediaTypes: readonly string[]): A2aError {
  return new A2aError('CONTENT_TYPE_NOT_SUPPORTED', `content-type must be ${mediaTypes.join(' or ')}, in UTF-8`);
}
