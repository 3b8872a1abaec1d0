import { readFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import type { APIGatewayProxyEventV2, SQSEvent } from 'aws-lambda';
import { startFauxqs } from 'fauxqs';
import { describe, expect, it } from 'vitest';
import { createSqsClient } from '../../../lib/sdk/sqs-client.js';
import { toEvent } from './event-sources.js';
import { toHttpEvent } from './http-event.js';
import { intervalMsOf, scheduledEvent } from './schedule-rules.js';

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../support/fixtures/aws-events/${name}.json`, import.meta.url), 'utf8'));

/** Sends a real request, and returns the event that is made of it. */
async function eventOf(path: string, headers: Record<string, string>, body: string): Promise<APIGatewayProxyEventV2> {
  const routed = { apiId: 'a1b2c3d4e5', stage: '$default', routeKey: 'ANY /runs', pathParameters: {} };
  const event = new Promise<APIGatewayProxyEventV2>((resolve) => {
    const server = createServer((request, response) => {
      void buffer(request).then((bytes) => {
        response.end();
        server.close();
        resolve(toHttpEvent(request, bytes, routed));
      });
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const method = body === '' ? 'GET' : 'POST';
      send({ port, host: '127.0.0.1', method, path, headers: { 'user-agent': 'curl/8.5.0', ...headers } }).end(body);
    });
  });
  return event;
}

/** Reduces a value to names and kinds of values; of headers and of the query only to their presence. */
function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(formOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, name === 'headers' || name === 'queryStringParameters' ? 'texts' : formOf(inner)])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  );
}

describe('events have the form that they have on AWS', () => {
  it('of a request with a body', async () => {
    const { body = '' } = fixture('http-api-v2-post') as APIGatewayProxyEventV2;
    const headers = { 'content-type': 'application/json', cookie: 'cookie1=value1; cookie2=value2' };
    const event = await eventOf('/runs', headers, body);
    expect(formOf(event)).toEqual(formOf(fixture('http-api-v2-post')));
    expect(event).toMatchObject({ body, isBase64Encoded: false, cookies: ['cookie1=value1', 'cookie2=value2'] });
    expect(event.requestContext.time).toMatch(/^\d{2}\/[A-Z][a-z]{2}\/\d{4}:\d{2}:\d{2}:\d{2} \+0000$/);
    expect(event.requestContext.http).toMatchObject({ method: 'POST', path: '/runs', userAgent: 'curl/8.5.0' });
  });

  it('of a request with a query and an encoded path', async () => {
    const event = await eventOf('/runs/a%2Fb?tag=1&tag=2&limit=5', {}, '');
    expect(formOf(event)).toEqual(formOf(fixture('http-api-v2-get')));
    expect(event).toMatchObject({
      rawPath: '/runs/a/b',
      rawQueryString: 'tag=1&tag=2&limit=5',
      queryStringParameters: { tag: '1,2', limit: '5' },
    });
  });

  it('of a request whose body is no text', async () => {
    const event = await eventOf('/runs', { 'content-type': 'application/octet-stream' }, 'grüße');
    expect(event).toMatchObject({ body: 'Z3LDvMOfZQ==', isBase64Encoded: true });
  });

  it.each([
    ['sqs-fifo', 'outwait-turn.fifo', { MessageGroupId: 'g', MessageDeduplicationId: 'd' }],
    ['sqs-standard', 'outwait-work', {}],
  ])('of messages: %s', async (name, queue, group) => {
    const sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
    const client = createSqsClient({ endpoint: `http://127.0.0.1:${sqs.port}` });
    try {
      const attributes: Record<string, string> = queue.endsWith('.fifo') ? { FifoQueue: 'true' } : {};
      const { queueUrl, queueArn } = sqs.createQueue(queue, { attributes });
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: '{}', ...group }));
      const { Messages: messages = [] } = await client.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MessageSystemAttributeNames: ['All'] }),
      );
      const event = toEvent(messages, queueArn);
      expect(formOf(event)).toEqual(formOf(fixture(name) as SQSEvent));
      expect(event.Records[0]).toMatchObject({ body: '{}', eventSourceARN: queueArn });
    } finally {
      client.destroy();
      await sqs.stop();
    }
  });

  it('of a schedule', () => {
    const event = scheduledEvent('arn:aws:events:eu-west-1:000000000000:rule/sweep');
    expect(formOf(event)).toEqual(formOf(fixture('scheduled')));
    expect(event.time).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
    expect(['rate(1 minute)', 'rate(5 minutes)', 'rate(2 hours)'].map(intervalMsOf)).toEqual([
      60_000, 300_000, 7_200_000,
    ]);
    expect(() => intervalMsOf('cron(0 2 * * ? *)')).toThrow('the schedule cron(0 2 * * ? *) is not known here');
  });
});
