import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aMessage, anAgent } from './agent.js';

const runs = Number(process.env['MALFORMED'] ?? 10_000);
const seed = 14;

const methods = fc.constantFrom(
  ...[
    'SendMessage',
    'SendStreamingMessage',
    'GetTask',
    'ListTasks',
    'CancelTask',
    'SubscribeToTask',
    'GetExtendedAgentCard',
  ],
  ...[
    'CreateTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigs',
    'message/send',
    'message/stream',
    'tasks/get',
  ],
  ...['tasks/resubscribe', 'tasks/pushNotificationConfig/set', 'toString', '__proto__', ''],
);
const version = fc.constantFrom('1.0', '0.3', '', '1.1', 'x');
const junk = fc.oneof(fc.json({ maxDepth: 3 }), fc.constant('{"__proto__":{"a":1}}'));
/** Parameters whose names are right and whose values are anything; ids that name nothing. */
const params = fc
  .dictionary(
    fc.constantFrom(
      'id',
      'taskId',
      'message',
      'configuration',
      'metadata',
      'pageSize',
      'pageToken',
      'contextId',
      'url',
    ),
    fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ messageId: 'm', role: 'ROLE_USER', parts: [{}] })),
    { noNullPrototype: true },
  )
  .map((value) => JSON.stringify(value));

describe('10,000 malformed requests', () => {
  it('over JSON-RPC are answered with errors of the client, and change nothing', async () => {
    const agent = anAgent();
    await agent.rpc('SendMessage', aMessage());
    const before = JSON.stringify(agent.tasks.read('1'.padStart(32, '0')));
    const envelope = fc
      .tuple(methods, fc.oneof(params, junk))
      .map(([method, given]) => `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${given}}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(envelope, junk, fc.string()), version, async (text, given) => {
        const { status, body } = await agent.post(text, { 'a2a-version': given });
        expect(status).toBeLessThan(500);
        // Lists of tasks need no parameters, and an unknown one is ignored.
        if (!('tasks' in ((body['result'] ?? {}) as object))) expect(body).toHaveProperty('error');
      }),
      { numRuns: runs, seed },
    );
    expect(agent.tasks.sent).toHaveLength(1);
    expect(JSON.stringify(agent.tasks.read('1'.padStart(32, '0')))).toBe(before);
    expect(agent.errors).toEqual([]);
  });

  it('over HTTP+JSON are answered with errors of the client, and change nothing', async () => {
    const agent = anAgent();
    const segment = fc.oneof(
      fc.constantFrom(
        'tasks',
        'message:send',
        'message:stream',
        'extendedAgentCard',
        'pushNotificationConfigs',
        '..',
        '%',
      ),
      fc.string({ maxLength: 8 }).map((text) => encodeURIComponent(text.toWellFormed())),
      fc.constantFrom('x:cancel', 'x:subscribe', ':cancel', '%00', '%ff'),
    );
    const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/a2a/rest/${segments.join('/')}`);
    const query = fc.constantFrom('', '?pageSize=x', '?pageSize=0', '?historyLength=-1', '?status=1', '?__proto__=1');
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(path, query, version),
        fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'PATCH'),
        fc.oneof(params, junk),
        async ([at, asked, given], method, body) => {
          const response = await agent.app.request(`${at}${asked}`, {
            method,
            headers: { 'a2a-version': given, 'content-type': 'application/json' },
            ...(method === 'GET' ? {} : { body }),
          });
          expect(response.status).toBeLessThan(500);
          const text = await response.text();
          if (response.status !== 200) expect(text).toMatch(/^\{"error":\{"code":4\d\d,"status":"[A-Z_]+"/);
        },
      ),
      { numRuns: runs, seed },
    );
    expect(agent.tasks.sent).toEqual([]);
    expect(agent.errors).toEqual([]);
  });
});
