import type * as Sdk from '@aws-sdk/client-kms';
import { EngineError } from '../../base/errors.js';
import { storeConnectTimeoutMs, storeRequestAttempts, storeRequestTimeoutMs } from '../../base/limits.js';
import { standIn } from '../../sdk/stand-in.js';

/** Creates data keys and unwraps wrapped ones. */
export interface KeyService {
  /** Creates a key of 32 bytes, returned plain and wrapped. @throws EngineError `STORE_UNAVAILABLE` */
  generate(): Promise<{ readonly secret: Uint8Array; readonly wrapped: Uint8Array }>;
  /** @throws EngineError `PAYLOAD_UNREADABLE` if KMS refuses, `STORE_UNAVAILABLE` if it does not answer */
  unwrap(wrapped: Uint8Array): Promise<Uint8Array>;
}

export interface KmsOptions {
  /** Id, ARN or alias of a symmetric key; it wraps new data keys. */
  readonly keyId: string;
  /** A local stand-in; credentials are then made up. Without it, credentials and region come from the environment. */
  readonly endpoint?: string;
}

/** Authenticated by KMS: a key wrapped for payloads is useless to a grant for anything else. */
const encryptionContext = { 'outwait:purpose': 'payload' };

/** Creates a key service on KMS. Its client is loaded when the first key is needed. */
export function kmsKeyService(options: KmsOptions): KeyService {
  let opened: Promise<Kms> | undefined;
  const kms = (): Promise<Kms> => (opened ??= openKms(options));
  return {
    async generate() {
      const { client, GenerateDataKeyCommand } = await kms();
      try {
        const { Plaintext: secret, CiphertextBlob: wrapped } = await client.send(
          new GenerateDataKeyCommand({
            KeyId: options.keyId,
            KeySpec: 'AES_256',
            EncryptionContext: encryptionContext,
          }),
        );
        if (secret?.length !== 32 || wrapped === undefined) throw new Error('IncompleteAnswer');
        return { secret, wrapped };
      } catch (error) {
        // Refusals too: nothing has been written yet, and rights that were just granted take a while to arrive.
        throw new EngineError('STORE_UNAVAILABLE', `KMS returned no key for payloads (${nameOf(error)})`);
      }
    },
    async unwrap(wrapped) {
      const { client, DecryptCommand, KMSServiceException } = await kms();
      try {
        // No key id: the wrapped key names its key, and an alias may point to another one by now. The rights of the
        // caller decide which keys are allowed.
        const { Plaintext: secret } = await client.send(
          new DecryptCommand({ CiphertextBlob: wrapped, EncryptionContext: encryptionContext }),
        );
        if (secret?.length !== 32) throw new Error('IncompleteAnswer');
        return secret;
      } catch (error) {
        if (error instanceof KMSServiceException && refusals.includes(error.name)) {
          throw new EngineError(
            'PAYLOAD_UNREADABLE',
            `a stored payload cannot be read: KMS does not decrypt its key (${error.name})`,
          );
        }
        throw new EngineError('STORE_UNAVAILABLE', `KMS does not answer (${nameOf(error)})`);
      }
    },
  };
}

type Kms = Pick<typeof Sdk, 'GenerateDataKeyCommand' | 'DecryptCommand' | 'KMSServiceException'> & {
  readonly client: Sdk.KMSClient;
};

async function openKms({ endpoint }: KmsOptions): Promise<Kms> {
  const { KMSClient, GenerateDataKeyCommand, DecryptCommand, KMSServiceException } =
    await import('../../sdk/kms-client.js');
  const client = new KMSClient({
    ...standIn(endpoint),
    maxAttempts: storeRequestAttempts,
    requestHandler: {
      connectionTimeout: storeConnectTimeoutMs,
      requestTimeout: storeRequestTimeoutMs,
      // Without it the SDK only logs a request that takes too long.
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true },
      httpsAgent: { keepAlive: true },
    },
  });
  return { client, GenerateDataKeyCommand, DecryptCommand, KMSServiceException };
}

/** Errors that would not pass in a moment: no right to the key, no such key, another key, changed text. */
const refusals: readonly string[] = [
  'AccessDeniedException',
  'DisabledException',
  'IncorrectKeyException',
  'InvalidCiphertextException',
  'InvalidKeyUsageException',
  'KMSInvalidStateException',
  'NotFoundException',
  'ValidationException',
];

/** Returns the code of a system error, which says more than its name, or the name of an error of the service. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return (error as NodeJS.ErrnoException).code ?? error.name;
}
