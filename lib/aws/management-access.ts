import type { Clock } from '../base/time.js';
import type { AwsSecrets } from '../remote/auth/aws-secrets.js';
import type { ApiOptions } from './api-handler.js';
import type { ManagementAccess } from './env.js';
import { textReader } from './text-source.js';

/** What the handler of the API checks of a management request. */
export function managementAccess(access: ManagementAccess, clock: Clock, aws?: AwsSecrets): ApiOptions {
  switch (access.kind) {
    case 'authorizer':
      return { byAuthorizer: true };
    case 'token':
      return { managementToken: access.token === undefined ? () => undefined : textReader(access.token, clock, aws) };
  }
}
