import { defined } from '../base/defined.js';

/** A secret by where it is kept; its value is read when it is used and never stored. */
export type SecretReference =
  /** An environment variable, read for each request. */
  | { readonly kind: 'environment'; readonly name: string }
  /** A parameter of AWS Systems Manager, decrypted. Read again after a minute, and at once after a 401. */
  | { readonly kind: 'ssmParameter'; readonly name: string }
  /** A secret of AWS Secrets Manager, whole or one field of its JSON. Read again like a parameter. */
  | { readonly kind: 'secretsManager'; readonly name: string; readonly field?: string };

/** A reference, or the value itself: for a server on a laptop, since configuration is code that is stored and shared. */
export type SecretSource = SecretReference | string;

/** Credentials of a remote server. At most one of `bearer`, `oauth` and `sigv4`. */
export interface ServerAuth {
  /** Sent as `Authorization: Bearer …`. */
  readonly bearer?: SecretSource;
  /** Sent as they are, but never in place of a header of the protocol. */
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

/** Signs the client's assertion (RFC 7523). */
export interface PrivateKey {
  /** PKCS #8 as PEM, or a JWK as JSON. */
  readonly key: SecretSource;
  readonly algorithm: PrivateKeyAlgorithm;
  /** `kid` of the assertion, where the authorization server wants one. */
  readonly keyId?: string;
}

/**
 * A client of an authorization server, with the grant `client_credentials` (RFC 6749 section 4.4). Exactly one of
 * `clientSecret` and `privateKey`. Without `issuer` and `tokenUrl` the server's own metadata say where its tokens come
 * from (RFC 9728): then whoever controls that server chooses who is shown the client secret.
 */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: SecretSource;
  readonly privateKey?: PrivateKey;
  /** The authorization server; its metadata (RFC 8414, or OpenID discovery) must name exactly this. */
  readonly issuer?: string;
  /** Its token endpoint: then no metadata are read. */
  readonly tokenUrl?: string;
  /** Default: what the server asks for. */
  readonly scopes?: readonly string[];
  /** `resource` of the token request (RFC 8707). Default: the URL of the server, or what its metadata call it. */
  readonly resource?: string;
  /** `audience` of the token request, for authorization servers that want one. Default: not sent. */
  readonly audience?: string;
}

/** Signs each request with the credentials of the process (AWS Signature Version 4). */
export interface SigV4 {
  /** `execute-api`, `lambda`, `bedrock-agentcore` … */
  readonly service: string;
  readonly region: string;
}

/** Names a secret. `secret('REPORTS_TOKEN')` reads the environment variable of that name when a request is made. */
export function secret(name: string): SecretReference {
  return { kind: 'environment', name };
}

/** A parameter of AWS Systems Manager, `ssmParameter('/outwait/reports-token')`, read when a request is made. */
export function ssmParameter(name: string): SecretReference {
  return { kind: 'ssmParameter', name };
}

/** A secret of AWS Secrets Manager by name or ARN, whole or one field of its JSON, read when a request is made. */
export function secretsManager(name: string, options: { readonly field?: string } = {}): SecretReference {
  return { kind: 'secretsManager', name, ...defined({ field: options.field }) };
}

/** Every secret that `auth` refers to. */
export function secretsOf(auth: ServerAuth): readonly SecretSource[] {
  const { bearer, headers = {}, oauth } = auth;
  return [bearer, ...Object.values(headers), oauth?.clientSecret, oauth?.privateKey?.key].filter(
    (source) => source !== undefined,
  );
}

/** What is wrong with credentials, if anything: the field, what was expected and what came, and never a value. */
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
  return 'a secret must be a text, or come from secret(), ssmParameter() or secretsManager() with a name';
}

function problemWithOAuth(oauth: OAuthClient): string | undefined {
  if (!isText(oauth.clientId)) return 'auth.oauth.clientId must be a text that is not empty';
  if ((oauth.clientSecret === undefined) === (oauth.privateKey === undefined))
    return 'auth.oauth must have exactly one of clientSecret and privateKey';
  if (oauth.privateKey !== undefined && !privateKeyAlgorithms.includes(oauth.privateKey.algorithm))
    return `auth.oauth.privateKey.algorithm must be one of ${privateKeyAlgorithms.join(', ')}`;
  for (const field of ['issuer', 'tokenUrl', 'resource'] as const) {
    const url = oauth[field];
    if (url !== undefined && !isWebAddress(url))
      return `auth.oauth.${field} must be an http(s) URL without user info and fragment`;
  }
  const badScope = oauth.scopes?.find((scope) => !oauthScope.test(scope));
  return badScope === undefined ? undefined : 'auth.oauth.scopes must be texts without spaces and quotes';
}

/** One scope token (RFC 6749 section 3.3). */
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
