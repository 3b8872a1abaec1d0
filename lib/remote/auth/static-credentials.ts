import type { StoredError } from '../../base/errors.js';
import { toStoredError } from '../../base/errors.js';
import type { SecretSource, ServerAuth } from '../../workflow/server-auth.js';
import type { HttpHead } from '../http/http.js';
import { remoteError } from '../rpc/remote-error.js';
import type { Credentials, Presented, Renewed } from './credentials.js';
import { describeSource, type SecretReader } from '../../secrets/secret-reader.js';

/** Headers and bearer token from the author's configuration. */
export class StaticCredentials implements Credentials {
  readonly #auth: ServerAuth;
  readonly #reader: SecretReader;

  constructor(auth: ServerAuth, reader: SecretReader) {
    this.#auth = auth;
    this.#reader = reader;
  }

  async present(): Promise<Presented> {
    const { headers = {}, bearer } = this.#auth;
    const result: Record<string, string> = {};
    const secrets: string[] = [];
    const wanted = [
      ...Object.entries(headers).map(([name, source]) => [name.toLowerCase(), source, ''] as const),
      ...(bearer === undefined ? [] : [['authorization', bearer, 'Bearer '] as const]),
    ];
    for (const [name, source, prefix] of wanted) {
      const value = await revealed(this.#reader, source);
      if (typeof value !== 'string') return { kind: 'failed', error: value };
      secrets.push(value, value.replace(/^\S+\s+/, ''));
      if (!transportHeaders.includes(name)) result[name] = prefix + value;
    }
    return { kind: 'ready', headers: result, secrets };
  }

  async renew({ status }: HttpHead, presented: Extract<Presented, { kind: 'ready' }>): Promise<Renewed> {
    const { headers = {}, bearer } = this.#auth;
    const sources = [...Object.values(headers), ...(bearer === undefined ? [] : [bearer])];
    if (status !== 401 || !this.#reader.forget(sources)) return { kind: 'unchanged' };
    const again = await this.present();
    if (again.kind === 'failed') return again;
    const isSame = JSON.stringify(again.headers) === JSON.stringify(presented.headers);
    return { kind: isSame ? 'unchanged' : 'renewed' };
  }
}

/** Returns the value of a secret, or the error why there is none. */
export async function revealed(reader: SecretReader, source: SecretSource): Promise<string | StoredError> {
  try {
    const value = await reader.read(source);
    return value?.reveal() ?? remoteError('CONFIG_INVALID', `${describeSource(source)} has no value`);
  } catch (error) {
    return toStoredError(error, 'REMOTE_UNREACHABLE');
  }
}

/** Headers of the connection itself: an author's value would break the framing or the address check. */
const transportHeaders: readonly string[] = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'accept-encoding',
  'content-encoding',
];
