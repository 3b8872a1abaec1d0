// A fake of the part of KMS that payloads need, on this machine: named keys, wrapped data keys, the encryption context.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/base/json.js';

export interface KmsCall {
  readonly operation: 'GenerateDataKey' | 'Decrypt' | (string & {});
  readonly body: JsonObject;
}

/** `refuse`: answers with this error. `drop`: breaks the connection. */
export type KmsFault = { readonly refuse: string; readonly status: number } | 'drop';

export interface FakeKms {
  readonly endpoint: string;
  readonly calls: readonly KmsCall[];
  /** Fault of every request while it is set, or, with `faultOf`, of those to one operation. */
  fault: KmsFault | undefined;
  faultOf: KmsCall['operation'] | undefined;
  /** Calls of one operation so far. */
  count(operation: KmsCall['operation']): number;
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  constructor(name: string, status = 400) {
    super(name);
    this.status = status;
  }
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** Starts a fake that knows these keys, each with its own master key. */
export async function startFakeKms(...keyIds: readonly string[]): Promise<FakeKms> {
  const masters = new Map(keyIds.map((keyId) => [keyId, randomBytes(32)]));
  const calls: KmsCall[] = [];

  function generate({ KeyId, KeySpec: spec, EncryptionContext: context }: JsonObject): object {
    const keyId = text(KeyId);
    const master = masters.get(keyId);
    if (master === undefined || spec !== 'AES_256') throw new Refusal('NotFoundException');
    const secret = randomBytes(32);
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', master, iv);
    cipher.setAAD(Buffer.from(canonicalJson(context ?? {})));
    const body = Buffer.concat([cipher.update(secret), cipher.final()]);
    const wrapped = Buffer.concat([Buffer.from(`${keyId} `), iv, cipher.getAuthTag(), body]);
    return { KeyId: keyId, Plaintext: secret.toString('base64'), CiphertextBlob: wrapped.toString('base64') };
  }

  function decrypt({ CiphertextBlob: blob, EncryptionContext: context }: JsonObject): object {
    const wrapped = Buffer.from(text(blob), 'base64');
    const space = wrapped.indexOf(' ');
    const keyId = wrapped.subarray(0, space).toString();
    const master = masters.get(keyId);
    const rest = wrapped.subarray(space + 1);
    if (master === undefined || rest.length !== 60) throw new Refusal('InvalidCiphertextException');
    try {
      const decipher = createDecipheriv('aes-256-gcm', master, rest.subarray(0, 12));
      decipher.setAAD(Buffer.from(canonicalJson(context ?? {})));
      decipher.setAuthTag(rest.subarray(12, 28));
      const secret = Buffer.concat([decipher.update(rest.subarray(28)), decipher.final()]);
      return { KeyId: keyId, Plaintext: secret.toString('base64') };
    } catch {
      throw new Refusal('InvalidCiphertextException');
    }
  }

  function answer(operation: string, body: JsonObject): object {
    calls.push({ operation, body });
    if (kms.faultOf === undefined || kms.faultOf === operation) {
      if (kms.fault === 'drop') throw new Refusal('drop');
      if (kms.fault !== undefined) throw new Refusal(kms.fault.refuse, kms.fault.status);
    }
    if (operation === 'GenerateDataKey') return generate(body);
    if (operation === 'Decrypt') return decrypt(body);
    throw new Refusal('UnknownOperationException');
  }

  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
      const operation = String(request.headers['x-amz-target']).replace(/^TrentService\./, '');
      let status = 200;
      let reply: object;
      try {
        reply = answer(operation, JSON.parse(Buffer.concat(parts).toString()) as JsonObject);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (error.message === 'drop') {
          request.socket.destroy();
          return;
        }
        status = error.status;
        reply = { __type: error.message, message: 'no' };
      }
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(reply));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const kms: FakeKms = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    fault: undefined,
    faultOf: undefined,
    count: (operation) => calls.filter((call) => call.operation === operation).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return kms;
}
