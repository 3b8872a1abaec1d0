import { EngineError } from '../base/errors.js';
import type { Clock } from '../base/time.js';
import { awsSecrets, type AwsSecrets } from '../secrets/aws-secrets.js';
import { SecretReader } from '../secrets/secret-reader.js';
import type { TextSource } from '../topology/env.js';

/**
 * Returns the reader of a secret text. A secret of Secrets Manager is cached for a minute, and for up to an hour while
 * it cannot be read again, so that a new value needs no deployment. The reader returns undefined if the secret does not
 * exist or is empty.
 * The reader throws EngineError `STORE_UNAVAILABLE`, which names neither secret nor value.
 */
export function textReader(
  source: TextSource,
  clock: Clock,
  aws: AwsSecrets = awsSecrets(),
): () => Promise<string | undefined> {
  if (source.kind === 'text') return async () => source.text;
  const reader = new SecretReader({ clock, readSecret: () => undefined, aws });
  return async () => {
    try {
      return (await reader.read({ kind: 'secretsManager', name: source.secretId }))?.reveal();
    } catch (error) {
      throw new EngineError('STORE_UNAVAILABLE', 'a secret of the deployment cannot be read', { cause: error });
    }
  };
}
