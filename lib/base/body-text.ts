import { EngineError } from './errors.js';

/** Returns the media type of a content type in lower case; undefined if there is none, or its charset is not UTF-8. */
export function utf8MediaType(contentType: string | null | undefined): string | undefined {
  const [type, ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return charset === undefined || /^charset="?utf-8"?$/.test(charset) ? type : undefined;
}

/** Decodes the body of a request. @throws EngineError `INPUT_INVALID` */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new EngineError('INPUT_INVALID', 'the body is not UTF-8');
  }
}
