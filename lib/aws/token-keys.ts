import { EngineError } from '../base/errors.js';
import { type TokenKey, TokenKeys } from '../tokens/token-keys.js';

/**
 * Reads `keyId:base64url[,keyId:base64url]`: the first key signs, all verify, so a key is rotated by putting the new
 * one in front. @throws EngineError `CONFIG_INVALID` that names the position of a wrong entry, never its text
 */
export function parseTokenKeys(text: string): TokenKeys {
  return new TokenKeys(text.split(',').map((entry, at) => parseTokenKey(entry.trim(), at + 1)));
}

function parseTokenKey(entry: string, position: number): TokenKey {
  const [keyId, secret, ...rest] = entry.split(':');
  if (keyId === undefined || secret === undefined || rest.length > 0 || !/^[A-Za-z0-9_-]+$/.test(secret)) {
    throw new EngineError('CONFIG_INVALID', `token key ${position} must have the form keyId:base64url`);
  }
  return { keyId, secret: Buffer.from(secret, 'base64url') };
}
