import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withCredential } from '../../../lib/cli/credential.js';
import { run } from './in-process.js';

const accessKeyId = 'AKIDEXAMPLE';
const secretAccessKey = 'canary-wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const sessionToken = 'canary-session-token';

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Whether a request is signed for `execute-api` in a region, by the rules of AWS, from nothing but what was received. */
function isSigned(request: IncomingMessage, body: Buffer, region: string): boolean {
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/execute-api\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  if (parts === null) return false;
  const [, key, day = '', signedFor, names = '', signature] = parts;
  const at = String(request.headers['x-amz-date']);
  const [path = '/', query = ''] = (request.url ?? '/').split('?');
  const canonicalQuery = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) =>
      pair
        .split('=')
        .map((part) => encode(decodeURIComponent(part)))
        .join('='),
    )
    .sort()
    .join('&');
  const canonical = [
    request.method,
    path.split('/').map(encode).join('/'),
    canonicalQuery,
    ...names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', at, `${day}/${region}/execute-api/aws4_request`, sha256(canonical)].join('\n');
  const signingKey = ['execute-api', 'aws4_request'].reduce<Buffer>(
    (made, part) => hmac(made, part),
    hmac(hmac(`AWS4${secretAccessKey}`, day), region),
  );
  return (
    key === accessKeyId &&
    signedFor === region &&
    at.startsWith(day) &&
    Math.abs(Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')) - Date.now()) <
      60_000 &&
    ['host', 'x-amz-date', 'x-amz-security-token'].every((name) => names.split(';').includes(name)) &&
    request.headers['x-amz-security-token'] === sessionToken &&
    hmac(signingKey, toSign).toString('hex') === signature
  );
}

let server: Server;
let url: string;
let asked: string[];
beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const signed = isSigned(request, Buffer.concat(chunks), 'eu-central-1');
      asked.push(`${request.method ?? ''} ${request.url ?? ''} ${signed ? 'signed' : 'not signed'}`);
      response.statusCode = signed ? 200 : 403;
      response.setHeader('content-type', 'application/json');
      response.end(signed ? '{"runs":[],"accepted":true}' : '{"message":"Forbidden"}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prod`;
  for (const name of ['AWS_PROFILE', 'AWS_DEFAULT_REGION', 'OUTWAIT_MANAGEMENT_TOKEN']) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
  vi.stubEnv('AWS_SESSION_TOKEN', sessionToken);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
});
afterEach(() => {
  server.close();
  vi.unstubAllEnvs();
});

const runId = '0'.repeat(32);

describe('--sigv4 (F46)', () => {
  it('signs reads, with what is in the query', async () => {
    const args = ['list', '--workflow', 'a b', '--tag', 'team=ä+ö &*', '--tag', 'area=1', '--url', url];
    expect(await run(...args, '--sigv4')).toEqual({ code: 0, out: 'no runs\n', err: '' });
    expect(asked).toEqual([
      'GET /prod/runs?limit=20&workflow=a%20b&tag=team%3A%C3%A4%2B%C3%B6%20%26*&tag=area%3A1 signed',
    ]);
  });

  it('signs requests with their body, and paths with encoded names', async () => {
    const args = ['signal', runId, 'go on/é', '--payload', '{"text":"ü"}', '--url', url];
    expect(await run(...args, '--sigv4')).toMatchObject({ code: 0, err: '' });
    expect(asked).toEqual([`POST /prod/runs/${runId}/signals/go%20on%2F%C3%A9 signed`]);
  });

  it('is wanted in preference to a token', async () => {
    vi.stubEnv('OUTWAIT_MANAGEMENT_TOKEN', 'canary-token');
    expect(await run('list', '--sigv4', '--url', url)).toMatchObject({ code: 0 });
  });

  it('is not used for other addresses by itself', async () => {
    expect(await run('list', '--url', url)).toMatchObject({ code: 1, out: '' });
    expect(asked).toEqual(['GET /prod/runs?limit=20 not signed']);
  });

  it('signs requests to served workflows too', async () => {
    await run('serve', 'card', '--sigv4', '--url', url);
    await run('serve', 'watch', 'task', '--sigv4', '--url', url);
    expect(asked).toEqual(['GET /prod/.well-known/agent-card.json signed', 'POST /prod/a2a signed']);
  });

  it('says which region or credentials are missing', async () => {
    vi.stubEnv('AWS_REGION', undefined);
    expect(await run('list', '--sigv4', '--url', url)).toEqual({
      code: 2,
      out: '',
      err: 'outwait: --sigv4 needs AWS_REGION: the address does not name a region\n',
    });
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
    const { code, err } = await run('list', '--sigv4', '--url', url);
    expect(code).toBe(1);
    expect(err).toContain('cannot get AWS credentials');
    expect(err).toContain('set AWS_PROFILE');
    expect(asked).toEqual([]);
  });
});

describe('an address of API Gateway (F46)', () => {
  const request = { method: 'GET', headers: {}, url: 'https://abc.execute-api.us-east-1.amazonaws.com/runs' } as const;
  const keys = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };

  it.each([
    'https://abc.execute-api.us-east-1.amazonaws.com/runs',
    'https://abc-vpce-0a1b.execute-api.us-east-1.amazonaws.com/runs',
    'https://vpce-1.execute-api.us-east-1.vpce.amazonaws.com/runs',
  ])('has its requests signed without a token, for its own region: %s', async (address) => {
    const { headers } = await withCredential({ ...request, url: address }, {}, { ...keys, AWS_REGION: 'eu-west-1' });
    expect(headers['authorization']).toMatch(/Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/execute-api\//);
  });

  it('gets the token, if there is one', async () => {
    const { headers } = await withCredential(request, {}, { ...keys, OUTWAIT_MANAGEMENT_TOKEN: 'canary-t' });
    expect(headers['authorization']).toBe('Bearer canary-t');
  });

  it.each([
    'https://abc.execute-api.us-east-1.amazonaws.com.example.com/',
    'https://example.com/.execute-api.us-east-1.amazonaws.com',
  ])('is not %s', async (address) => {
    expect((await withCredential({ ...request, url: address }, {}, keys)).headers).toEqual({});
  });
});
