import type { JsonValue } from '../../base/json.js';
import { type BodyFault, readJson as read } from '../read-json.js';
import { A2aError, type A2aReason } from './errors.js';
import { requestMaxBytes } from '../limits.js';

const reasons: Readonly<Record<BodyFault, A2aReason>> = {
  media_type: 'CONTENT_TYPE_NOT_SUPPORTED',
  syntax: 'PARSE_ERROR',
  limits: 'INVALID_REQUEST',
};

/**
 * Reads the body of a request as JSON; undefined if it is empty.
 * @throws A2aError `CONTENT_TYPE_NOT_SUPPORTED`, `PARSE_ERROR`, `INVALID_REQUEST`; EngineError `PAYLOAD_TOO_LARGE`
 */
export async function readJson(request: Request, mediaTypes: readonly string[]): Promise<JsonValue | undefined> {
  const refusal = (fault: BodyFault, message: string) => new A2aError(reasons[fault], message);
  return read(request, { mediaTypes, maxBytes: requestMaxBytes, refusal });
}
