import { account } from './account.js';
import type { Credentials } from './aws-endpoint.js';
import type { FunctionSpec } from './functions.js';

/** Returns the variables that Lambda sets besides those of a function, and the one that leads the SDK here. */
export function runtimeEnvironment(
  spec: FunctionSpec,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  awsUrl: string,
): Readonly<Record<string, string>> {
  return {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
    AWS_REGION: account.region,
    AWS_DEFAULT_REGION: account.region,
    AWS_LAMBDA_FUNCTION_NAME: spec.functionName,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(spec.memoryMb),
    AWS_LAMBDA_FUNCTION_VERSION: spec.version,
    AWS_LAMBDA_LOG_GROUP_NAME: spec.logGroup,
    LAMBDA_TASK_ROOT: spec.folder,
    TZ: ':UTC',
    AWS_ENDPOINT_URL: awsUrl,
  };
}
