import { createHmac } from 'node:crypto';
import { snsTopic, webhookTo, type WebhookOptions } from 'outwait';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpClient, HttpRequest } from '../../../lib/remote/http/http.js';
import { HttpMessenger } from '../../../lib/remote/people/http-messenger.js';
import { schemes } from '../../../lib/inbound/schemes.js';
import { verdictOn } from '../../../lib/inbound/verify.js';
import { closeAll, closedPort, httpClient, nowMs, serve, type Answer } from './loopback.js';

const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString('base64')}`;
const older = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
const message = {
  id: 'run_1_0_0',
  body: '{"type":"question.asked","data":{"question":"é"}}',
  text: 'é?',
  subject: 'Q',
};

function messenger(http: HttpClient = httpClient()): HttpMessenger {
  return new HttpMessenger({
    http,
    clock: { nowMs: () => nowMs },
    secrets: {
      read: async (source) => {
        if (typeof source === 'string') return { reveal: () => source };
        return source.name === 'KNOWN' ? { reveal: () => secret } : undefined;
      },
    },
    awsIdentity: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'canary-hidden-key' }),
  });
}

async function delivered(answer: Answer, options: Partial<WebhookOptions> = {}) {
  const server = await serve(answer);
  const delivery = await messenger().send(webhookTo({ url: server.url, secret, ...options }), message);
  return { delivery, server };
}

afterEach(closeAll);

describe('a notice by webhook (S2-20)', () => {
  it('is signed as Standard Webhooks says, with each secret, and can be verified', async () => {
    const { delivery, server } = await delivered((_, response) => response.end(), { secret: [secret, older] });
    expect(delivery).toEqual({ kind: 'taken' });
    const [got] = server.received;
    expect(got?.text).toBe(message.body);
    expect(got?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': message.id });
    const signatures = String(got?.headers['webhook-signature']).split(' ');
    const timestamp = String(got?.headers['webhook-timestamp']);
    expect(timestamp).toBe(String(nowMs / 1_000));
    const expected = createHmac('sha256', key).update(`${message.id}.${timestamp}.${message.body}`).digest('base64');
    expect(signatures).toHaveLength(2);
    expect(signatures[0]).toBe(`v1,${expected}`);
    // Also by the code that takes the webhooks of others.
    const headers = Object.fromEntries(
      Object.entries(got?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    const { standardWebhooks: scheme } = schemes;
    const claim = scheme.claim({ headers, body: Buffer.from(got?.text ?? ''), atMs: nowMs });
    if (claim === undefined) throw new Error('no sender can have sent this');
    for (const one of [secret, older]) expect(verdictOn(scheme, claim, [one])).toBe('genuine');
  });

  it.each([
    ['a redirect, which is not followed', 302, { location: 'http://169.254.169.254/' }],
    ['an error of the server', 500, {}],
    ['a refusal that may be a mistake', 401, {}],
  ])('is not taken after %s', async (_, status, headers) => {
    const { delivery, server } = await delivered((_request, response) => response.writeHead(status, headers).end());
    expect(delivery).toEqual({
      kind: 'failed',
      error: { code: 'REMOTE_UNREACHABLE', message: `the receiver answered with status ${status}` },
    });
    expect(server.received).toHaveLength(1);
  });

  it('is told how long to wait, and that the receiver is gone', async () => {
    const busy = await delivered((_, response) => response.writeHead(429, { 'retry-after': '90' }).end());
    expect(busy.delivery).toMatchObject({ kind: 'failed', retryAfterMs: 90_000 });
    expect((await delivered((_, response) => response.writeHead(410).end())).delivery).toEqual({ kind: 'gone' });
  });

  it('is taken although the body of the answer is endless, compressed or never ends', async () => {
    const endless = await delivered((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': '99999999999' });
      response.write('x'.repeat(100_000));
    });
    expect(endless.delivery).toEqual({ kind: 'taken' });
  });

  it('is sent anew to a receiver that does not answer, in time', async () => {
    const http = httpClient();
    const timeouts: (number | undefined)[] = [];
    const fast: HttpClient = {
      send: (request) => {
        timeouts.push(request.timeoutMs);
        return http.send({ ...request, timeoutMs: 50 });
      },
    };
    const server = await serve(() => undefined);
    expect(await messenger(fast).send(webhookTo({ url: server.url, secret }), message)).toMatchObject({
      kind: 'failed',
      error: { code: 'REMOTE_UNREACHABLE' },
    });
    expect(timeouts).toEqual([10_000]);
  });

  it('is not sent to an address within, nor without its secret, and no error tells the address', async () => {
    const http = httpClient({ allowLoopback: false });
    for (const url of [
      'http://169.254.169.254/latest',
      'https://10.0.0.1/x',
      `http://127.0.0.1:${await closedPort()}/`,
    ])
      expect(await messenger(http).send(webhookTo({ url, secret }), message)).toMatchObject({
        kind: 'failed',
        error: { code: 'CONFIG_INVALID' },
      });
    const { delivery, server } = await delivered((_, response) => response.end(), {
      secret: { kind: 'environment', name: 'UNKNOWN' },
    });
    expect(delivery).toMatchObject({ kind: 'failed', error: { code: 'CONFIG_INVALID' } });
    expect(JSON.stringify(delivery)).not.toContain(new URL(server.url).port);
    expect(server.received).toEqual([]);
  });
});

describe('a notice by SNS', () => {
  it('is published to the topic in its region, signed, as JSON and as text', async () => {
    const sent: HttpRequest[] = [];
    const http: HttpClient = {
      send: async (request) => {
        sent.push(request);
        return { kind: 'reply', status: 200, headers: {}, text: '' };
      },
    };
    const topicArn = 'arn:aws:sns:eu-central-1:123456789012:questions.fifo';
    expect(await messenger(http).send(snsTopic({ topicArn }), message)).toEqual({ kind: 'taken' });
    expect(sent[0]?.url).toBe('https://sns.eu-central-1.amazonaws.com/');
    expect(sent[0]?.headers['authorization']).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/sns\//,
    );
    const form = Object.fromEntries(new URLSearchParams(sent[0]?.body));
    expect(form).toMatchObject({
      Action: 'Publish',
      TopicArn: topicArn,
      Subject: 'Q',
      MessageGroupId: 'run',
      MessageDeduplicationId: 'run_1_0_0',
      'MessageAttributes.entry.1.Value.StringValue': 'run_1_0_0',
    });
    expect(JSON.parse(form['Message'] ?? '')).toEqual({ default: message.body, email: 'é?', sms: 'é?' });
  });
});
