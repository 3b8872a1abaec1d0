import { createHmac } from 'node:crypto';
import { aJwt, bearer, issuer, type Key, otherIssuer, type Request, sha256, type Signed, values } from './senders.js';

// Every way to send a token (JWT) that is not the issuer's for a request, for all doors that take tokens.

/** What a forger of tokens knows. */
export interface Forger {
  nowMs(): number;
  /** Signs a token as the issuer does, with what is changed. */
  jwt(signed?: Signed): Promise<string>;
  /** Audience that is expected. */
  audience(): string;
  /** `key` and `rsa` are the issuer's; `strange` has the id of `key`; `otherKey` is that of another issuer. */
  readonly keys: Readonly<Record<'key' | 'rsa' | 'strange' | 'otherKey', Key>>;
  /** URL of a set with the key `strange`. */
  attackerUrl(): string;
}

const secondsOf = (f: Forger): number => Math.floor(f.nowMs() / 1_000);

/** Ways to send a token that is not the issuer's for this request. */
export const forgeries: readonly (readonly [
  string,
  (forger: Forger, body: string) => Request['headers'] | Promise<Request['headers']>,
])[] = [
  ['no header', () => ({})],
  ['an empty header', () => ({ authorization: '' })],
  ['the scheme alone', () => ({ authorization: 'Bearer' })],
  ['another scheme', async (f) => ({ authorization: `Basic ${await f.jwt()}` })],
  ['the token alone', async (f) => ({ authorization: await f.jwt() })],
  ['a token that is none', () => bearer('a.b.c')],
  ['a token without a signature', async (f) => bearer((await f.jwt()).replace(/[^.]*$/, ''))],
  ['a signature that is cut', async (f) => bearer((await f.jwt()).slice(0, -4))],
  ['a signature by another key under the same id', (f) => f.jwt({ key: f.keys.strange.privateKey }).then(bearer)],
  ['a key that the issuer does not have', (f) => f.jwt({ header: { kid: 'unknown' } }).then(bearer)],
  ['an algorithm that is not allowed', (f) => aJwt(f.keys.rsa, f.nowMs(), { header: { alg: 'PS256' } }).then(bearer)],
  ['the algorithm none', (f) => bearer(unsigned(f, { alg: 'none', kid: f.keys.key.kid }))],
  ['the algorithm none in capitals', (f) => bearer(unsigned(f, { alg: 'NONE', kid: f.keys.key.kid }))],
  ['no algorithm', (f) => bearer(unsigned(f, { kid: f.keys.key.kid }))],
  [
    'an HMAC with the public key as its secret',
    (f) => bearer(hmacWith(f, f.keys.rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString(), f.keys.rsa.kid)),
  ],
  [
    'an HMAC with the key as the set has it',
    (f) => bearer(hmacWith(f, JSON.stringify(f.keys.key.jwk), f.keys.key.kid)),
  ],
  ['its own key', (f) => f.jwt({ key: f.keys.strange.privateKey, header: { jwk: f.keys.strange.jwk } }).then(bearer)],
  [
    'the address of its own keys',
    (f) => f.jwt({ key: f.keys.strange.privateKey, header: { jku: f.attackerUrl() } }).then(bearer),
  ],
  [
    'the address of its own certificate',
    (f) => f.jwt({ key: f.keys.strange.privateKey, header: { x5u: f.attackerUrl() } }).then(bearer),
  ],
  [
    'an extension that must be understood',
    (f) => bearer(unsigned(f, { alg: 'ES256', kid: f.keys.key.kid, crit: ['b64'], b64: false })),
  ],
  ['another issuer', (f) => f.jwt({ claims: { iss: otherIssuer } }).then(bearer)],
  [
    'the credential of another server',
    (f) => aJwt(f.keys.otherKey, f.nowMs(), { claims: { iss: otherIssuer } }).then(bearer),
  ],
  ['the issuer of this server and the key of another one', (f) => aJwt(f.keys.otherKey, f.nowMs()).then(bearer)],
  ['another audience', (f) => f.jwt({ claims: { aud: 'https://elsewhere.example.com' } }).then(bearer)],
  [
    'an audience that only begins the same',
    (f) => f.jwt({ claims: { aud: 'https://outwait.example.com.evil.example' } }).then(bearer),
  ],
  ['no audience', (f) => f.jwt({ without: ['aud'] }).then(bearer)],
  ['no time', (f) => f.jwt({ without: ['iat'] }).then(bearer)],
  ['no end', (f) => f.jwt({ without: ['exp'] }).then(bearer)],
  ['no id', (f) => f.jwt({ without: ['jti'] }).then(bearer)],
  ['an id that is not a text', (f) => f.jwt({ claims: { jti: 1 as never } }).then(bearer)],
  [
    'a token that has expired',
    (f) => f.jwt({ claims: { iat: secondsOf(f) - 100, exp: secondsOf(f) - 31 } }).then(bearer),
  ],
  [
    'a token that is too old, but expires later',
    (f) => f.jwt({ claims: { iat: secondsOf(f) - 331, exp: secondsOf(f) + 3_600 } }).then(bearer),
  ],
  [
    'a token from the future',
    (f) => f.jwt({ claims: { iat: secondsOf(f) + 31, exp: secondsOf(f) + 300 } }).then(bearer),
  ],
  ['a token that is not valid yet', (f) => f.jwt({ claims: { nbf: secondsOf(f) + 31 } }).then(bearer)],
  ['times that are texts', (f) => f.jwt({ claims: { exp: String(secondsOf(f) + 300) as never } }).then(bearer)],
  [
    'the digest of another body',
    (f, body) => f.jwt({ claims: { request_body_sha256: sha256(`${body} `) } }).then(bearer),
  ],
  ['a digest that is none', (f) => f.jwt({ claims: { request_body_sha256: 'no' } }).then(bearer)],
  ['a task that is not a text', (f) => f.jwt({ claims: { taskId: 7 } }).then(bearer)],
  ['two headers', async (f) => ({ authorization: [`Bearer ${await f.jwt()}`, `Bearer ${await f.jwt()}`] })],
  ['two headers, of which one is empty', async (f) => ({ authorization: [`Bearer ${await f.jwt()}`, ''] })],
  ['two tokens in one header', async (f) => ({ authorization: `Bearer ${await f.jwt()} ${await f.jwt()}` })],
  ['the bearer token of another server', () => bearer(values['BEARER']!)],
];

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function payload(f: Forger): object {
  return {
    iss: issuer,
    aud: f.audience(),
    iat: secondsOf(f),
    exp: secondsOf(f) + 300,
    jti: 'j',
  };
}

function unsigned(f: Forger, header: object): string {
  return `${base64url(header)}.${base64url(payload(f))}.AA`;
}

function hmacWith(f: Forger, secret: string, kid: string): string {
  const signed = `${base64url({ alg: 'HS256', kid })}.${base64url(payload(f))}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
