import { defined } from '../../base/defined.js';
import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../../base/time.js';
import type { SigV4 } from '../../workflow/server-auth.js';
import type { HttpRequest } from '../http/http.js';
import { remoteError } from '../rpc/remote-error.js';
import type { Credentials, Presented, Renewed } from './credentials.js';

export interface AwsIdentity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Credentials of the process; the provider keeps them until they expire. */
export type AwsIdentityProvider = () => Promise<AwsIdentity>;

/** Returns the default AWS chain (environment, profile, container, instance), loaded at first use. */
export function defaultAwsIdentity(): AwsIdentityProvider {
  let chain: Promise<AwsIdentityProvider> | undefined;
  return async () => {
    chain ??= import('@aws-sdk/credential-provider-node').then(({ defaultProvider }) => defaultProvider());
    return (await chain)();
  };
}

/** Signs each request for a server behind AWS (Signature Version 4). */
export class SigV4Credentials implements Credentials {
  readonly #scope: SigV4;
  readonly #identity: AwsIdentityProvider;
  readonly #clock: Clock;

  constructor(scope: SigV4, identity: AwsIdentityProvider, clock: Clock) {
    this.#scope = scope;
    this.#identity = identity;
    this.#clock = clock;
  }

  async present(request: HttpRequest): Promise<Presented> {
    let identity: AwsIdentity;
    try {
      identity = await this.#identity();
    } catch (error) {
      const name = error instanceof Error ? error.name : 'unknown error';
      return { kind: 'failed', error: remoteError('REMOTE_UNREACHABLE', `cannot get AWS credentials (${name})`) };
    }
    const { SignatureV4 } = await import('@smithy/signature-v4');
    const signer = new SignatureV4({ ...this.#scope, credentials: identity, sha256: NodeSha256 });
    const url = new URL(request.url);
    const query: Record<string, string[]> = {};
    for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
    const signed = await signer.sign(
      {
        method: request.method ?? 'POST',
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query,
        headers: { ...request.headers, host: url.host },
        ...defined({ body: request.body }),
      },
      { signingDate: new Date(this.#clock.nowMs()) },
    );
    const { host, ...headers } = signed.headers;
    const { authorization = '' } = headers;
    const secrets = [authorization, authorization.replace(/^.*Signature=/, ''), identity.secretAccessKey];
    return {
      kind: 'ready',
      // Leaves `host` to the connection.
      headers: host === undefined ? signed.headers : headers,
      secrets: [...secrets, ...(identity.sessionToken === undefined ? [] : [identity.sessionToken])],
    };
  }

  async renew(): Promise<Renewed> {
    return { kind: 'unchanged' };
  }
}

/** SHA-256 and its HMAC in the form the signer expects. */
class NodeSha256 {
  readonly #hash: { update(data: Uint8Array): unknown; digest(): Uint8Array };

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', toBytes(key));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(toBytes(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

function toBytes(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
