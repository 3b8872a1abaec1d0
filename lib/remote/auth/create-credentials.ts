import type { HttpHead, HttpRequest } from '../http/http.js';
import type { Credentials, Presented, Renewed } from './credentials.js';
import { awsSecrets, type AwsSecrets } from '../../secrets/aws-secrets.js';
import { OAuthCredentials } from './oauth-credentials.js';
import { SecretReader } from '../../secrets/secret-reader.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { TokenDeps } from './oauth-token.js';
import { type AwsIdentityProvider, defaultAwsIdentity, SigV4Credentials } from './sigv4-credentials.js';
import { StaticCredentials } from './static-credentials.js';

/** External dependencies of credentials. */
export interface CredentialDeps extends Omit<TokenDeps, 'reader' | 'allowPrivateAddresses'> {
  /**
   * Returns a secret by name, or undefined if there is none; called for every request so that a rotated one is used.
   */
  readonly readSecret: (name: string) => string | undefined | Promise<string | undefined>;
  /** Default: Systems Manager and Secrets Manager. */
  readonly awsSecrets?: AwsSecrets;
  /** Identity that signs requests to servers behind AWS. Default: that of the process, as the AWS SDK finds it. */
  readonly awsIdentity?: AwsIdentityProvider;
}

type CredentialConfig = Pick<ServerConfig, 'auth' | 'allowPrivateAddresses'> & { readonly url: string };

/** Returns the credentials of one configured server. */
export function createCredentials(
  { auth = {}, url, allowPrivateAddresses = false }: CredentialConfig,
  deps: CredentialDeps,
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

/** Adds the author's headers to what `main` makes for each request. */
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
    // Signs last, since a signature covers the author's headers too.
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
