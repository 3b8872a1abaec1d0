import { EngineError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Clock } from '../base/time.js';
import type { AwsSecrets } from '../secrets/aws-secrets.js';
import type { TokenKeys } from '../tokens/token-keys.js';
import type { TextSource } from '../topology/env.js';
import { parseTokenKeys, parseTokenKeySecret } from './keys.js';
import { textReader } from './text-source.js';

export interface TokenKeyDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly aws?: AwsSecrets;
}

/**
 * Returns the reader of the token keys, which returns the same object as long as they are the same. If the secret no
 * longer holds keys, this is logged and the previous keys stay.
 * The reader throws EngineError `CONFIG_INVALID` if there never were any, `STORE_UNAVAILABLE` if they cannot be read.
 */
export function tokenKeyReader(source: TextSource, { clock, log, aws }: TokenKeyDeps): () => Promise<TokenKeys> {
  const read = textReader(source, clock, aws);
  const parse = source.kind === 'text' ? parseTokenKeys : parseTokenKeySecret;
  let current: { readonly text: string | undefined; readonly keys: TokenKeys } | undefined;
  return async () => {
    const text = await read();
    if (current !== undefined && current.text === text) return current.keys;
    try {
      if (text === undefined)
        throw new EngineError('CONFIG_INVALID', 'the secret of the token keys does not exist or is empty');
      current = { text, keys: parse(text) };
    } catch (error) {
      if (current === undefined) throw error;
      log.error('token keys not replaced', { error });
      current = { text, keys: current.keys };
    }
    return current.keys;
  };
}
