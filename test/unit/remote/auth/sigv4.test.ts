import { createHash, createHmac } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import type { AwsIdentity } from '../../../../lib/remote/auth/sigv4-credentials.js';
import { createTransports } from '../../../../lib/remote/wiring/transports.js';
import { mcpServer } from '../../../../lib/workflow/app.js';
import { closeAll, httpClient, nowMs, type Received, result, serve, transportDeps } from '../loopback.js';

afterEach(closeAll);

const handle = { server: 'agent', protocol: 'mcp', wire: '2026-07-28', taskId: 't1' } as const;
const identity: AwsIdentity = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'canary-secret-key',
  sessionToken: 'canary-session',
};

function callerOf(url: string, awsIdentity: () => Promise<AwsIdentity>) {
  const auth = { sigv4: { service: 'execute-api', region: 'eu-central-1' }, headers: { 'x-tenant': 'acme' } };
  const deps = transportDeps(httpClient(), { awsIdentity });
  return createTransports({ agent: mcpServer({ url, auth }) }, deps).get('agent');
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Returns the signature as AWS computes it from what arrived (Signature Version 4). */
function expectedSignature({ headers, text }: Received, path: string, query: string): string {
  const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1] ?? '';
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`);
  const canonical = ['POST', path, query, lines.join(''), signed, sha256(text)].join('\n');
  const date = String(headers['x-amz-date']);
  const scope = `${date.slice(0, 8)}/eu-central-1/execute-api/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((left, part) => hmac(left, part), `AWS4${identity.secretAccessKey}`);
  return hmac(key, toSign).toString('hex');
}

it('GB-28: signs method, path, query, headers and body', async () => {
  const server = await serve((request, response) => {
    result(response, request, { taskId: 't1', status: 'working' });
  });
  const transport = callerOf(`${server.url}?b=2&a=1%20x`, async () => identity);
  expect((await transport.get(handle)).kind).toBe('working');
  const [request] = server.received;
  expect(request?.headers).toMatchObject({
    'x-amz-date': new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, ''),
    'x-amz-security-token': 'canary-session',
    'x-tenant': 'acme',
  });
  const { authorization = '' } = request!.headers;
  expect(authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20261129\/eu-central-1\/execute-api\/aws4_request, /,
  );
  expect(authorization).toMatch(/SignedHeaders=[^,]*content-type;host;[^,]*x-tenant/);
  expect(/Signature=(.*)$/.exec(authorization)?.[1]).toBe(expectedSignature(request!, '/rpc', 'a=1%20x&b=2'));
});

it('says nothing of the credentials when the server sends them back', async () => {
  const server = await serve((request, response) => {
    const message = JSON.stringify(request.headers);
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: request.body.id, error: { code: -32600, message } }));
  });
  const reply = await callerOf(server.url, async () => identity).get(handle);
  expect(JSON.stringify(reply)).not.toContain('canary');
  expect(JSON.stringify(reply)).not.toMatch(/Signature=[0-9a-f]{8}/);
});

it('without credentials nothing is sent, and the attempt may be repeated', async () => {
  const server = await serve(() => undefined);
  const missing = async (): Promise<never> =>
    Promise.reject(Object.assign(new Error('canary'), { name: 'CredentialsProviderError' }));
  const request = { kind: 'tool', tool: 'x', arguments: {} } as const;
  expect(await callerOf(server.url, missing).start({ request, idempotencyKey: 'k' })).toEqual({
    kind: 'retry',
    error: { code: 'REMOTE_UNREACHABLE', message: 'cannot get AWS credentials (CredentialsProviderError)' },
  });
  expect(server.received).toEqual([]);
});
