import { afterEach, describe, expect, it } from 'vitest';
import { sequenceExtension } from '../../../lib/base/a2a-extensions.js';
import type { RemoteQuestion } from '../../../lib/remote/transport.js';
import { agent, type Agent, handle, jsonRpc, rpcError, started, working } from './a2a-agent.js';
import { closeAll, json, result } from './loopback.js';

afterEach(closeAll);

const question: RemoteQuestion = { key: 'q-1', kind: 'form', message: 'Which?' };
const asking = (more: object = {}) => ({
  ...working,
  status: {
    state: 'TASK_STATE_INPUT_REQUIRED',
    message: { messageId: 'q-1', role: 'ROLE_AGENT', parts: [{ text: 'Which?' }] },
  },
  ...more,
});
const inMetadata = (generation: number) => ({ metadata: { [sequenceExtension]: { generation } } });
const declared = { capabilities: { extensions: [{ uri: sequenceExtension }] } };

const answerTo = (supplier: Agent) =>
  supplier.transport().answer(handle, question, { action: 'accept', content: 'a' }, 'k:in:1');
const paramsOf = (supplier: Agent, method: string) =>
  supplier
    .calls()
    .filter(({ body }) => body.method === method)
    .map(({ body }) => body.params as { configuration?: object; currentGeneration?: string });

describe('CF-13: towards an agent that', () => {
  it.each([
    ['shows none', asking()],
    ['counts none', asking({ generation: 0 })],
    ['counts none, in ProtoJSON', asking({ generation: '0' })],
    ['shows something else', asking({ generation: 'seven' })],
    ['shows a negative number', asking({ generation: -1 })],
  ])('%s, nothing is said of generations', async (_, task) => {
    const supplier = await agent(jsonRpc);
    supplier.answer = (request, response) => {
      result(response, request, request.body.method === 'GetTask' ? task : started);
    };
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
    expect(paramsOf(supplier, 'GetTask')[0]).not.toHaveProperty('currentGeneration');
    expect(paramsOf(supplier, 'SendMessage')[0]?.configuration).not.toHaveProperty('ifGenerationMatch');
    expect(supplier.calls().map(({ headers }) => headers['a2a-extensions'])).toEqual([undefined, undefined]);
  });

  it.each([
    ['speaks 1.1', asking({ generation: 7 }), {}],
    ['speaks 1.1 in ProtoJSON', asking({ generation: '7' }), {}],
    ['has our extension', asking(inMetadata(7)), declared],
  ])('%s, the answer names the generation', async (_, task, card) => {
    const supplier = await agent(jsonRpc, card);
    supplier.answer = (request, response) => {
      result(response, request, request.body.method === 'GetTask' ? task : started);
    };
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
    expect(paramsOf(supplier, 'SendMessage')[0]?.configuration).toMatchObject({ ifGenerationMatch: '7' });
    const activated = card === declared ? sequenceExtension : undefined;
    expect(supplier.calls()[0]?.headers['a2a-extensions']).toBe(activated);
  });

  it.each([
    ['over JSON-RPC', 200],
    ['under the status of a draft', 412],
  ])(
    'refuses an old generation %s, the task is read again beyond it, and the answer is sent anew',
    async (_, status) => {
      const supplier = await agent(jsonRpc);
      let generation = 7;
      supplier.answer = (request, response) => {
        const { method, params } = request.body as unknown as { method: string; params: { configuration: object } };
        if (method === 'GetTask') result(response, request, asking({ generation: generation++ }));
        else if ('ifGenerationMatch' in params.configuration && params.configuration.ifGenerationMatch === '7')
          rpcError(response, request, -32010, status);
        else result(response, request, started);
      };
      expect(await answerTo(supplier)).toEqual({ kind: 'done' });
      expect(supplier.trail()).toEqual(['card', 'GetTask', 'SendMessage', 'GetTask', 'SendMessage']);
      expect(paramsOf(supplier, 'GetTask').map(({ currentGeneration }) => currentGeneration)).toEqual([undefined, '7']);
    },
  );

  it('changes each time, the answer is kept for later', async () => {
    const supplier = await agent(jsonRpc);
    let generation = 7;
    supplier.answer = (request, response) => {
      if (request.body.method === 'GetTask') result(response, request, asking({ generation: generation++ }));
      else rpcError(response, request, -32010);
    };
    expect(await answerTo(supplier)).toMatchObject({ kind: 'retry' });
    expect(paramsOf(supplier, 'SendMessage')).toHaveLength(3);
  });

  it('speaks HTTP+JSON, both are said and understood there too', async () => {
    const supplier = await agent((origin) => [
      { url: `${origin}/v1`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ]);
    let sent = 0;
    supplier.answer = ({ path }, response) => {
      if (path.startsWith('/v1/tasks')) json(response, asking({ generation: 7 + sent }));
      else if (++sent === 1)
        json(
          response,
          { error: { code: 409, status: 'ABORTED', message: 'no', details: [{ reason: 'TASK_GENERATION_MISMATCH' }] } },
          409,
        );
      else json(response, started);
    };
    expect(await answerTo(supplier)).toEqual({ kind: 'done' });
    expect(supplier.trail().slice(1)).toEqual([
      'GET /v1/tasks/t1?historyLength=0',
      'POST /v1/message:send',
      'GET /v1/tasks/t1?historyLength=0&currentGeneration=7',
      'POST /v1/message:send',
    ]);
  });
});
