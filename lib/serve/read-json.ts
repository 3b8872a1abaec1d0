import { decodeUtf8, utf8MediaType } from '../base/body-text.js';
import { callerLimits, JsonBeyondLimits, parseBoundedJson } from '../base/bounded-json.js';
import type { JsonValue } from '../base/json.js';
import { checkLength, readBytes } from '../http/read-body.js';

/** What is wrong with a body: its type, its syntax, or its depth and number of keys or values. */
export type BodyFault = 'media_type' | 'syntax' | 'limits';

export interface JsonBodyRule {
  readonly mediaTypes: readonly string[];
  readonly maxBytes: number;
  /** Creates the error for a body that is refused. */
  readonly refusal: (fault: BodyFault, message: string) => Error;
}

/**
 * Reads the body of a request as JSON; undefined if it is empty.
 * @throws what `refusal` creates; EngineError `PAYLOAD_TOO_LARGE`
 */
export async function readJson(
  request: Request,
  { mediaTypes, maxBytes, refusal }: JsonBodyRule,
): Promise<JsonValue | undefined> {
  checkLength(request, maxBytes);
  const contentType = request.headers.get('content-type');
  const isKnown = mediaTypes.includes(utf8MediaType(contentType) ?? '');
  const wrongType = () => refusal('media_type', `content-type must be ${mediaTypes.join(' or ')}, in UTF-8`);
  // A request without a body may leave out its type.
  if (!isKnown && contentType !== null) throw wrongType();
  const bytes = await readBytes(request, maxBytes);
  if (bytes.length === 0) return undefined;
  if (!isKnown) throw wrongType();
  try {
    return parseBoundedJson(decodeUtf8(bytes), callerLimits);
  } catch (error) {
    throw refusal(error instanceof JsonBeyondLimits ? 'limits' : 'syntax', (error as Error).message);
  }
}
