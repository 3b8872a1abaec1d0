import type { EndpointConfig, TransportDeps } from '../transport-deps.js';
import type { HttpHead, HttpRequest } from '../http.js';
import type { Credentials, Presented, Renewed } from './credentials.js';
import { awsSecrets } from './aws-secrets.js';
import { OAuthCredentials } from './oauth-credentials.js';
import { SecretReader } from './secret-reader.js';
import { defaultAwsIdentity, SigV4Credentials } from './sigv4-credentials.js';
import { StaticCredentials } from './static-credentials.js';

/** The credentials of one configured server. */
export function createCredentials(
  { auth = {}, url, allowPrivateAddresses = false }: EndpointConfig,
  deps: TransportDeps,
): Credentials {
  const { clock, readSecret } = deps;
  const reader = new SecretReader({ clock, readSecret, aws: deps.awsSecrets ?? awsSecrets() });
  const own = new StaticCredentials(auth, reader);
  if (auth.oauth !== undefined)
    return new BothCredentials(own, new OAuthCredentials(auth.oauth, url, { ...deps, reader, allowPrivateAddresses }));
  if (auth.sigv4 !== undefined)
    return new BothCredentials(own, new SigV4Credentials(auth.sigv4, deps.awsIdentity ?? defaultAwsIdentity(), clock));
  return own;
}

/** The author's headers, and what `main` makes for each request. */
class BothCredentials implements Credentials {
  readonly #headers: Credentials;
  readonly #main: Credentials;

  constructor(headers: Credentials, main: Credentials) {
    this.#headers = headers;
    this.#main = main;
  }

  async present(request: HttpRequest): Promise<Presented> {
    const own = await this.#headers.present(request);
    if (own.kind === 'failed') return own;
    // A signature covers the author's headers too.
    const main = await this.#main.present({ ...request, headers: { ...own.headers, ...request.headers } });
    if (main.kind === 'failed') return main;
    return {
      kind: 'ready',
      headers: { ...own.headers, ...main.headers },
      secrets: [...own.secrets, ...main.secrets],
    };
  }

  async renew(refusal: HttpHead, presented: Extract<Presented, { kind: 'ready' }>): Promise<Renewed> {
    return this.#main.renew(refusal, presented);
  }
}
