import { defined } from '../base/defined.js';

/** Refers to a secret by where it is kept. The value is read when it is used, and never stored. */
export type SecretReference =
  /** An environment variable, read for each request. */
  | { readonly kind: 'environment'; readonly name: string }
  /** A parameter of AWS Systems Manager, decrypted. Cached for a minute, and read again at once after a 401. */
  | { readonly kind: 'ssmParameter'; readonly name: string }
  /** A secret of AWS Secrets Manager, whole or one field of its JSON. Cached like a parameter. */
  | { readonly kind: 'secretsManager'; readonly name: string; readonly field?: string };

/**
 * A reference, or the value itself. Use values only for servers on your machine: configuration is code, stored and
 * shared.
 */
export type SecretSource = SecretReference | string;

/** Credentials of a remote server. At most one of `bearer`, `oauth` and `sigv4`. */
export interface ServerAuth {
  /** Token sent as `Authorization: Bearer …`. */
  readonly bearer?: SecretSource;
  /** Headers sent unchanged; they never replace a header of the protocol. */
  readonly headers?: Readonly<Record<string, SecretSource>>;
  readonly oauth?: OAuthClient;
  readonly sigv4?: SigV4;
}

export type PrivateKeyAlgorithm = 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'EdDSA';

const privateKeyAlgorithms = [
  'ES256',
  'ES384',
  'RS256',
  'PS256',
  'EdDSA',
] as const satisfies readonly PrivateKeyAlgorithm[];

/** Key that signs the client's assertion (RFC 7523). */
export interface PrivateKey {
  /** PKCS #8 as PEM, or a JWK as JSON. */
  readonly key: SecretSource;
  readonly algorithm: PrivateKeyAlgorithm;
  /** `kid` of the assertion, if the authorization server requires one. */
  readonly keyId?: string;
}

/**
 * A client of an authorization server, with the grant `client_credentials` (RFC 6749 section 4.4). Exactly one of
 * `clientSecret` and `privateKey`. Without `issuer` and `tokenUrl` the metadata of the remote server name its
 * authorization server (RFC 9728): the remote server then decides who receives the client secret.
 */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: SecretSource;
  readonly privateKey?: PrivateKey;
  /** The authorization server; its metadata (RFC 8414 or OpenID discovery) must name exactly this URL. */
  readonly issuer?: string;
  /** Token endpoint of the authorization server; if set, no metadata are read. */
  readonly tokenUrl?: string;
  /** Scopes of the token. Default: those that the server asks for. */
  readonly scopes?: readonly string[];
  /** `resource` of the token request (RFC 8707). Default: the one in the server's metadata, or the server's URL. */
  readonly resource?: string;
  /** `audience` of the token request, for authorization servers that require one. Default: not sent. */
  readonly audience?: string;
}

/** Signs each request with the credentials of the process (AWS Signature Version 4). */
export interface SigV4 {
  /** `execute-api`, `lambda`, `bedrock-agentcore` … */
  readonly service: string;
  readonly region: string;
}

/** Refers to a secret in an environment variable: `secret('REPORTS_TOKEN')`. Read for each request. */
export function secret(name: string): SecretReference {
  return { kind: 'environment', name };
}

/** Refers to a parameter of AWS Systems Manager: `ssmParameter('/outwait/reports-token')`. Cached for a minute. */
export function ssmParameter(name: string): SecretReference {
  return { kind: 'ssmParameter', name };
}

/** Refers to a secret of AWS Secrets Manager by name or ARN, whole or one field of its JSON. Cached for a minute. */
export function secretsManager(name: string, options: { readonly field?: string } = {}): SecretReference {
  return { kind: 'secretsManager', name, ...defined({ field: options.field }) };
}

/** Returns every secret that `auth` refers to. */
export function secretsOf(auth: ServerAuth): readonly SecretSource[] {
  const { bearer, headers = {}, oauth } = auth;
  return [bearer, ...Object.values(headers), oauth?.clientSecret, oauth?.privateKey?.key].filter(
    (source) => source !== undefined,
  );
}

/** Returns what is wrong with the credentials, if anything: the field, and what was expected; never a secret value. */
export function problemWithAuth(auth: ServerAuth): string | undefined {
  const ways = (['bearer', 'oauth', 'sigv4'] as const).filter((way) => auth[way] !== undefined);
  if (ways.length > 1) return `auth must have one of bearer, oauth and sigv4, got ${ways.join(' and ')}`;
  for (const source of secretsOf(auth)) {
    const problem = problemWithSource(source);
    if (problem !== undefined) return `auth: ${problem}`;
  }
  return auth.oauth === undefined ? problemWithSigV4(auth.sigv4) : problemWithOAuth(auth.oauth);
}

/** What is wrong with one secret, if anything; never its value. */
export function problemWithSource(source: unknown): string | undefined {
  if (typeof source === 'string') return source === '' ? 'a secret is empty' : undefined;
  const { kind, name } = (source ?? {}) as { kind?: unknown; name?: unknown };
  const isReference = ['environment', 'ssmParameter', 'secretsManager'].includes(kind as string);
  if (isReference && typeof name === 'string' && name !== '') return undefined;
  return 'a secret must be a string, or come from secret(), ssmParameter() or secretsManager() with a name';
}

function problemWithOAuth(oauth: OAuthClient): string | undefined {
  if (!isText(oauth.clientId)) return 'auth.oauth.clientId must be a non-empty string';
  if ((oauth.clientSecret === undefined) === (oauth.privateKey === undefined))
    return 'auth.oauth must have exactly one of clientSecret and privateKey';
  if (oauth.privateKey !== undefined && !privateKeyAlgorithms.includes(oauth.privateKey.algorithm))
    return `auth.oauth.privateKey.algorithm must be one of ${privateKeyAlgorithms.join(', ')}`;
  for (const field of ['issuer', 'tokenUrl', 'resource'] as const) {
    const url = oauth[field];
    if (url !== undefined && !isWebAddress(url))
      return `auth.oauth.${field} must be an http(s) URL without user info or a fragment`;
  }
  const badScope = oauth.scopes?.find((scope) => !oauthScope.test(scope));
  return badScope === undefined ? undefined : 'auth.oauth.scopes must be strings without spaces or quotes';
}

/** A single scope token (RFC 6749 section 3.3). */
export const oauthScope = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

function problemWithSigV4(sigv4: SigV4 | undefined): string | undefined {
  if (sigv4 === undefined || [sigv4.service, sigv4.region].every((text) => awsName.test(text))) return undefined;
  return 'auth.sigv4 must have a service and a region, of letters, digits and "-"';
}

const awsName = /^[a-z0-9-]{1,64}$/;

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isWebAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.hash === '';
}
