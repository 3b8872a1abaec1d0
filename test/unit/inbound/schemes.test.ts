import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { headerOf, type InboundHeaders } from '../../../lib/inbound/request.js';
import { schemes } from '../../../lib/inbound/schemes.js';
import { hasCommon } from '../../../lib/inbound/signature.js';
import { verdictOn } from '../../../lib/inbound/verify.js';
import type { SecretScheme } from '../../../lib/workflow/hook-auth.js';

interface Vector {
  readonly scheme: SecretScheme;
  readonly secret: string;
  readonly body: string;
  readonly headers: InboundHeaders;
  readonly atMs: number;
  readonly deliveryId: string;
  /** What of the headers proves it. */
  readonly proof: string;
}

// From https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
const github: Vector = {
  scheme: 'github',
  secret: "It's a Secret to Everybody",
  body: 'Hello, World!',
  headers: {
    'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    'X-GitHub-Delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  },
  atMs: 0,
  deliveryId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  proof: '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
};

// From https://docs.slack.dev/authentication/verifying-requests-from-slack
const slack: Vector = {
  scheme: 'slack',
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  body:
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V' +
    '&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
    '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
    '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  headers: {
    'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    'X-Slack-Request-Timestamp': '1531420618',
  },
  atMs: 1_531_420_618_000,
  // printf '%s' "$body" | openssl dgst -sha256
  deliveryId: 'sha256:390eeeff8d0cb7c9f6ecf8a88c3df6452fea0914eb02f64844369f3758d8d330',
  proof: 'a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
};

// Stripe publishes no signature with its secret. This one: printf '1492774577.{"id":"evt_1"}' | openssl dgst -sha256 -hmac
// 'whsec_test_secret'; the v0 is that of https://docs.stripe.com/webhooks, where it is to be ignored.
const stripe: Vector = {
  scheme: 'stripe',
  secret: 'whsec_test_secret',
  body: '{"id":"evt_1"}',
  headers: {
    'Stripe-Signature':
      't=1492774577,v1=799c4ba7bb339f3c8601adfd112f0e477c930a268be1243d341abb8286501c2f,' +
      'v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39',
  },
  atMs: 1_492_774_577_000,
  deliveryId: 'sha256:40993c639ffb5f13a0a2ef5c93c965f10b405f2b87a379272381da2dbc158dfa',
  proof: '799c4ba7bb339f3c8601adfd112f0e477c930a268be1243d341abb8286501c2f',
};

// From https://github.com/standard-webhooks/standard-webhooks, the tests of its libraries.
const standardWebhooks: Vector = {
  scheme: 'standardWebhooks',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'Webhook-Signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  atMs: 1_614_265_330_000,
  deliveryId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  proof: 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

const bearer: Vector = {
  scheme: 'bearer',
  secret: 'a-token-of-the-sender',
  body: '{}',
  headers: { Authorization: 'Bearer a-token-of-the-sender', 'Idempotency-Key': 'order-7' },
  atMs: 0,
  deliveryId: 'order-7',
  proof: 'a-token-of-the-sender',
};

const vectors = [github, slack, stripe, standardWebhooks, bearer];
const signed = [github, slack, stripe, standardWebhooks];
const timed = [slack, stripe, standardWebhooks];
const nameOf: Readonly<Record<SecretScheme, string>> = {
  github: 'X-Hub-Signature-256',
  slack: 'X-Slack-Signature',
  stripe: 'Stripe-Signature',
  standardWebhooks: 'Webhook-Signature',
  bearer: 'Authorization',
};

/** Returns what is made of a vector after a change. */
function verdict(vector: Vector, changed: Partial<Vector> = {}, secrets = [vector.secret]): string {
  const { scheme, headers, body, atMs } = { ...vector, ...changed };
  const claim = schemes[scheme].claim({ headers, body: Buffer.from(body), atMs });
  return claim === undefined ? 'refused' : verdictOn(schemes[scheme], claim, secrets);
}

/** Returns the vector's headers with another signature. */
function signature(vector: Vector, change: (value: string) => string | readonly string[] | undefined): Partial<Vector> {
  const name = nameOf[vector.scheme];
  return { headers: { ...vector.headers, [name]: change(vector.headers[name] as string) } };
}

describe.each(vectors)('a delivery of $scheme', (vector) => {
  const { scheme, proof } = vector;

  it('is genuine as its documentation gives it, whatever the case of the names of headers', () => {
    expect(verdict(vector)).toBe('genuine');
    const inCapitals = Object.fromEntries(
      Object.entries(vector.headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(verdict(vector, { headers: inCapitals })).toBe('genuine');
  });

  it('has the same id each time', () => {
    const { headers, body, atMs } = vector;
    expect(schemes[scheme].claim({ headers, body: Buffer.from(body), atMs })?.deliveryId).toBe(vector.deliveryId);
  });

  it('is genuine under either secret of a rotation, and forged under another one', () => {
    const other = scheme === 'standardWebhooks' ? 'whsec_AAAA' : 'another secret';
    expect(verdict(vector, {}, [other, vector.secret])).toBe('genuine');
    expect(verdict(vector, {}, [vector.secret, other])).toBe('genuine');
    expect(verdict(vector, {}, [other])).toBe('forged');
    expect(verdict(vector, {}, [])).toBe('forged');
  });

  it('is refused without its signature, with an empty one, and with a list', () => {
    for (const value of [undefined, '', [], [vector.headers[nameOf[scheme]] as string]])
      expect(
        verdict(
          vector,
          signature(vector, () => value),
        ),
      ).toBe('refused');
  });

  it('is refused with a signature that came twice, as a list, joined, or under two spellings', () => {
    expect(
      verdict(
        vector,
        signature(vector, (value) => [value, value]),
      ),
    ).toBe('refused');
    expect(
      verdict(
        vector,
        signature(vector, (value) => `${value}, ${value}`),
      ),
    ).toBe('refused');
    expect(
      verdict(
        vector,
        signature(vector, (value) => `${value},${value}`),
      ),
    ).toBe('refused');
    const value = vector.headers[nameOf[scheme]];
    expect(verdict(vector, { headers: { ...vector.headers, [nameOf[scheme].toUpperCase()]: value } })).toBe('refused');
  });

  it('is not genuine with a signature of another length or of other letters, and nothing throws', () => {
    for (const [what, change] of [
      ['none', ''],
      ['one letter', proof.slice(0, 1)],
      ['one letter less', proof.slice(0, -1)],
      ['one letter more', `${proof}0`],
      ['8 KB', proof.repeat(128)],
      ['letters that mean nothing', 'z'.repeat(proof.length)],
      ['one that is no letter', proof.replace(/^./, '!')],
      ['in capitals', proof.toUpperCase()],
      ['with a zero byte', proof.replace(/^./, '\0')],
    ] as const) {
      const made = verdict(
        vector,
        signature(vector, (value) => value.replace(proof, change)),
      );
      expect([what, made]).toEqual([what, expect.stringMatching(/^(refused|forged)$/)]);
    }
  });
});

describe.each(signed)('what $scheme has signed', (vector) => {
  it('is the exact bytes of the body', () => {
    for (const body of ['', `${vector.body} `, vector.body.replace('{', '{ '), vector.body.toUpperCase(), '{"id":"x"}'])
      if (body !== vector.body) expect(verdict(vector, { body })).toBe('forged');
  });
});

describe.each(timed)('the time of $scheme', (vector) => {
  it.each([
    [-60, 'genuine'],
    [-61, 'refused'],
    [300, 'genuine'],
    [301, 'refused'],
    [86_401, 'refused'],
  ])('%i s after it was signed: %s', (ageSeconds, expected) => {
    expect(verdict(vector, { atMs: vector.atMs + ageSeconds * 1_000 })).toBe(expected);
  });

  it('is exactly ten digits, although a sender may have signed another spelling', () => {
    const seconds = String(vector.atMs / 1_000);
    for (const text of [`${seconds} `, `+${seconds}`, `0${seconds}`, `${seconds}.0`, '1e9', '', 'NaN'])
      expect([text, verdict(vector, signedAt(vector, text))]).toEqual([text, 'refused']);
    expect(verdict(vector, signedAt(vector, seconds))).toBe('genuine');
  });
});

/** Signs a vector anew, with the time written in this way. */
function signedAt({ scheme, secret, body, headers }: Vector, time: string): Partial<Vector> {
  const mac = (text: string, encoding: 'hex' | 'base64' = 'hex'): string =>
    createHmac('sha256', encoding === 'hex' ? secret : Buffer.from(secret.replace('whsec_', ''), 'base64'))
      .update(text)
      .digest(encoding);
  switch (scheme) {
    case 'slack':
      return {
        headers: { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${mac(`v0:${time}:${body}`)}` },
      };
    case 'stripe':
      return { headers: { 'stripe-signature': `t=${time},v1=${mac(`${time}.${body}`)}` } };
    case 'github':
    case 'bearer':
    case 'standardWebhooks': {
      const id = headers['webhook-id'] as string;
      const signature = `v1,${mac(`${id}.${time}.${body}`, 'base64')}`;
      return { headers: { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } };
    }
  }
}

describe('Stripe', () => {
  it('may give several signatures, of which one is enough, but not more than 16', () => {
    const other = `v1=${'0'.repeat(64)}`;
    const value = stripe.headers['Stripe-Signature'] as string;
    const withOthers = (count: number) =>
      verdict(
        stripe,
        signature(stripe, () => [value, ...Array<string>(count).fill(other)].join(',')),
      );
    expect(withOthers(1)).toBe('genuine');
    expect(withOthers(16)).toBe('refused');
  });

  it('has the id of its event as that of the delivery', () => {
    expect(schemes.stripe.idIn?.({ id: 'evt_1' })).toBe('evt_1');
    for (const body of [null, {}, { id: 7 }, { id: 'a b' }, ['id']])
      expect(schemes.stripe.idIn?.(body)).toBe(undefined);
  });
});

describe('Standard Webhooks', () => {
  it('may give several signatures, also of a version that nobody knows here', () => {
    const other = `v1,${Buffer.alloc(32).toString('base64')}`;
    expect(
      verdict(
        standardWebhooks,
        signature(standardWebhooks, (value) => `v1a,abc= ${other} ${value}`),
      ),
    ).toBe('genuine');
    expect(
      verdict(
        standardWebhooks,
        signature(standardWebhooks, () => other),
      ),
    ).toBe('forged');
  });

  it('has no dot in its id, which could move what is signed', () => {
    expect(verdict(standardWebhooks, { headers: { ...standardWebhooks.headers, 'webhook-id': 'a.b' } })).toBe(
      'refused',
    );
  });

  it('cannot have a secret that is not base64', () => {
    expect(verdict(standardWebhooks, {}, ['whsec_not base64!'])).toBe('unusable');
    expect(verdict(standardWebhooks, {}, ['whsec_'])).toBe('unusable');
    expect(verdict(standardWebhooks, {}, ['whsec_not base64!', standardWebhooks.secret])).toBe('genuine');
  });
});

it('GitHub has an id for each delivery', () => {
  const { 'X-GitHub-Delivery': _, ...others } = github.headers;
  expect(verdict(github, { headers: others })).toBe('refused');
  expect(verdict(github, { headers: { ...others, 'X-GitHub-Delivery': 'a, b' } })).toBe('refused');
});

it('a header of more than 4,096 characters counts as none', () => {
  expect(headerOf({ A: 'x'.repeat(4_096) }, 'a')).toHaveLength(4_096);
  expect(headerOf({ A: 'x'.repeat(4_097) }, 'a')).toBe(undefined);
});

it('digests of different lengths are different, and nothing throws', () => {
  const digest = new Uint8Array(32);
  expect(hasCommon([new Uint8Array(0), new Uint8Array(31), new Uint8Array(33)], [digest])).toBe(false);
  expect(hasCommon([new Uint8Array(31), digest, new Uint8Array(33)], [digest])).toBe(true);
});
