import type { Clock } from '../base/time.js';
import type { AwsSecrets } from '../secrets/aws-secrets.js';
import type { ApiOptions } from './api-handler.js';
import { checkedManagementToken, type ManagementAccess } from '../topology/env.js';
import { textReader } from './text-source.js';

/** Returns the options by which the API's handler checks management requests. */
export function managementAccess(access: ManagementAccess, clock: Clock, aws?: AwsSecrets): ApiOptions {
  switch (access.kind) {
    case 'authorizer':
      return { byAuthorizer: true };
    case 'token': {
      const readers = access.tokens.map((source) => textReader(source, clock, aws));
      return { managementTokens: async () => tokensIn(await Promise.all(readers.map((read) => read()))) };
    }
  }
}

/**
 * Checks the tokens.
 * @throws EngineError `CONFIG_INVALID` if one is not a token, since its owner relies on it
 */
function tokensIn(texts: readonly (string | undefined)[]): readonly string[] {
  return texts
    .filter((text) => text !== undefined)
    .map((text) => checkedManagementToken(text, 'the management token in a secret'));
}
