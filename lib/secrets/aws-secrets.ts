import { EngineError } from '../base/errors.js';
import { standIn } from '../sdk/stand-in.js';

const secretConnectTimeoutMs = 1_000;
const secretRequestTimeoutMs = 3_000;
const secretRequestAttempts = 2;

/**
 * Secret stores of AWS. Both methods return undefined if there is no such secret.
 * @throws EngineError `REMOTE_UNREACHABLE`, without the value
 */
export interface AwsSecrets {
  readParameter(name: string): Promise<string | undefined>;
  readSecret(id: string): Promise<string | undefined>;
}

/**
 * Options for a stand-in on this machine, with made-up credentials. Without `endpoint`, credentials and region come
 * from the environment.
 */
export interface AwsSecretsOptions {
  readonly endpoint?: string;
}

/** Reads from Systems Manager and Secrets Manager. Each client is loaded with the first secret that needs it. */
export function awsSecrets(options: AwsSecretsOptions = {}): AwsSecrets {
  let parameters: ReturnType<typeof openParameterStore> | undefined;
  let secrets: ReturnType<typeof openSecretsManager> | undefined;
  return {
    async readParameter(name) {
      const { client, GetParameterCommand } = await (parameters ??= openParameterStore(options));
      const answer = await orMissing(() => client.send(new GetParameterCommand({ Name: name, WithDecryption: true })));
      return answer?.Parameter?.Value;
    },
    async readSecret(id) {
      const { client, GetSecretValueCommand } = await (secrets ??= openSecretsManager(options));
      const answer = await orMissing(() => client.send(new GetSecretValueCommand({ SecretId: id })));
      return answer?.SecretString;
    },
  };
}

async function openParameterStore(options: AwsSecretsOptions) {
  const { SSMClient, GetParameterCommand } = await import('../sdk/ssm-client.js');
  return { client: new SSMClient(clientConfig(options)), GetParameterCommand };
}

async function openSecretsManager(options: AwsSecretsOptions) {
  const { SecretsManagerClient, GetSecretValueCommand } = await import('../sdk/secrets-manager-client.js');
  return { client: new SecretsManagerClient(clientConfig(options)), GetSecretValueCommand };
}

function clientConfig({ endpoint }: AwsSecretsOptions) {
  return {
    ...standIn(endpoint),
    maxAttempts: secretRequestAttempts,
    requestHandler: {
      connectionTimeout: secretConnectTimeoutMs,
      requestTimeout: secretRequestTimeoutMs,
      // Makes timeouts fail: by default the SDK only logs a request that takes too long.
      throwOnRequestTimeout: true,
    },
  };
}

const missingNames: readonly string[] = ['ParameterNotFound', 'ParameterVersionNotFound', 'ResourceNotFoundException'];

async function orMissing<Answer>(read: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await read();
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown error';
    if (missingNames.includes(name)) return undefined;
    // Drops the message of the service, which may hold the name of an account or a key; its class says enough.
    throw new EngineError('REMOTE_UNREACHABLE', `a secret of the server cannot be read (${name})`);
  }
}
