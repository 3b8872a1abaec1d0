import { createHash, generateKeyPairSync } from 'node:crypto';
import { exportJWK, SignJWT, type JWTPayload } from 'jose';
import { jwtWebhook } from 'outwait';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { verifyJwt } from '../../../lib/inbound/jwt.js';
import { createTestDeps } from '../../../lib/testing/test-deps.js';
import { takeProof } from '../../../lib/operations/requests/take-proof.js';
import { defineApp } from '../../../lib/index.js';
import type { JwtAuth } from '../../../lib/workflow/jwt-options.js';

// Tokens of senders: one test for each rule, since a mutant of the engine lacks one rule.

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const nowS = 1_800_000_000;
const options = { issuer: 'https://a.example', audience: 'https://us.example', jwksUrl: 'https://a.example/jwks' };
const auth = jwtWebhook(options) as JwtAuth;
const body = Buffer.from('{"n":1}');

const keys = async (): Promise<JsonObject> => ({
  keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256' }],
});

/** Returns what is made of a token with these claims. */
async function verified(
  claims: { readonly [Name in keyof JWTPayload]?: JWTPayload[Name] | undefined },
  { alg = 'RS256', rules = auth } = {},
) {
  const payload = { iss: options.issuer, aud: options.audience, iat: nowS, exp: nowS + 300, jti: 'j', ...claims };
  const token = await new SignJWT(payload as JWTPayload).setProtectedHeader({ alg, kid: 'k' }).sign(privateKey);
  const headers = { authorization: `Bearer ${token}` };
  let renewals = 0;
  const known = await keys();
  const claim = await verifyJwt(rules, { headers, body, atMs: nowS * 1_000 }, ({ isRenewed }) => {
    if (isRenewed) renewals++;
    return Promise.resolve(known);
  });
  return claim ?? { refused: true, renewals };
}

const refused = { refused: true, renewals: 0 };
const accepted = { issuer: options.issuer, jti: 'j' };

test('PROOF a token of the issuer for us is accepted', async () => {
  expect(await verified({})).toMatchObject({ ...accepted, coversBody: false });
});

test('PROOF issuer: a token of another one is refused', async () => {
  expect(await verified({ iss: 'https://b.example' })).toEqual(refused);
});

test('PROOF audience: a token for somebody else is refused', async () => {
  expect(await verified({ aud: 'https://them.example' })).toEqual(refused);
});

test('PROOF age: a token that is old or from the future is refused, although it expires later', async () => {
  expect(await verified({ iat: nowS - 330, exp: nowS + 600 })).toMatchObject(accepted);
  expect(await verified({ iat: nowS - 331, exp: nowS + 600 })).toEqual(refused);
  expect(await verified({ iat: nowS + 30 })).toMatchObject(accepted);
  expect(await verified({ iat: nowS + 31 })).toEqual(refused);
});

test('PROOF claims: a token without an end or an id is refused', async () => {
  expect(await verified({ exp: undefined })).toEqual(refused);
  expect(await verified({ jti: undefined })).toEqual(refused);
});

test('PROOF algorithm: a token under one that is not configured is refused', async () => {
  expect(await verified({}, { alg: 'RS512' })).toEqual(refused);
});

test('PROOF subject: a token of another one is refused', async () => {
  const rules = jwtWebhook({ ...options, subject: 'me' }) as JwtAuth;
  expect(await verified({ sub: 'me' }, { rules })).toMatchObject(accepted);
  expect(await verified({ sub: 'you' }, { rules })).toEqual(refused);
});

test('PROOF body: a token with the digest of another body is refused', async () => {
  const digest = createHash('sha256').update(body).digest('hex');
  expect(await verified({ request_body_sha256: digest })).toMatchObject({ coversBody: true });
  expect(await verified({ request_body_sha256: digest.replace(/^./, (first) => (first === '0' ? '1' : '0')) })).toEqual(
    refused,
  );
});

test('PROOF body: a token without a digest is refused where one is required', async () => {
  const rules = jwtWebhook({ ...options, requireBodyHash: true }) as JwtAuth;
  expect(await verified({}, { rules })).toEqual(refused);
});

const anApp = () => createTestDeps(() => defineApp({ workflows: [] }), {});
const codeOf = (taking: Promise<void>) =>
  taking.then(
    () => 'taken',
    (error: unknown) => (error as { code: string }).code,
  );

test('PROOF once: a proof that was taken is refused for another use, for as long as anybody would accept it', async () => {
  const { deps, clock } = anApp();
  const proof = { id: 'p', untilMs: clock.nowMs() + 1_000 };
  const take = (use?: string) => codeOf(takeProof(deps, { proof }, use));
  expect([await take('a'), await take('b'), await take('a'), await take()]).toEqual([
    'taken',
    'UNAUTHORIZED',
    'taken',
    'UNAUTHORIZED',
  ]);
  // Another process, whose clock is a minute behind, accepts it for a minute more.
  clock.moveTo(proof.untilMs + 59_999);
  expect(await take('b')).toBe('UNAUTHORIZED');
  clock.moveTo(proof.untilMs + 60_000);
  expect(await take('b')).toBe('taken');
});

test('PROOF once: without a use a proof is taken by one of all', async () => {
  const { deps, clock } = anApp();
  const proof = { id: 'p', untilMs: clock.nowMs() + 1_000 };
  const takes = await Promise.all([1, 2, 3].map(() => codeOf(takeProof(deps, { proof }))));
  expect(takes.sort()).toEqual(['UNAUTHORIZED', 'UNAUTHORIZED', 'taken']);
});
