import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { eventually } from '../../support/eventually.js';
import { answer, ended, type Loop, openLoop, served, start, startsIn, taskOf, untilAsked } from './loop.js';
import type { AgentOptions } from './loop-process.js';

// A workflow of one outwait calls a workflow that another one serves. Each is a process of its own that can be killed.

async function cardAt(url: string, version: string): Promise<JsonObject> {
  const response = await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'a2a-version': version } });
  return (await response.json()) as JsonObject;
}

interface Peer {
  readonly name: string;
  readonly agentAt: (url: string) => Promise<AgentOptions>;
  /** Path of the requests for tasks. */
  readonly door: string;
  readonly pushType: string;
}

/** How the calling engine knows the agent: by the address of its card, or by the part of the card for one interface. */
const peers: readonly Peer[] = [
  {
    name: '1.0 over JSON-RPC, with signed pushes',
    agentAt: async (url) => ({ url, config: { card: url }, isSigned: true }),
    ...{ door: '/a2a', pushType: 'application/a2a+json' },
  },
  {
    name: '1.0 over HTTP+JSON, with the secret of the call',
    agentAt: async (url) => {
      const card = await cardAt(url, '1.0');
      const all = card['supportedInterfaces'] as readonly JsonObject[];
      const supportedInterfaces = all.filter(({ protocolBinding }) => protocolBinding === 'HTTP+JSON');
      return { url, config: { card: { ...card, supportedInterfaces } } };
    },
    ...{ door: '/a2a/rest/', pushType: 'application/a2a+json' },
  },
  {
    name: '0.3 over JSON-RPC, with signed pushes',
    agentAt: async (url) => {
      const { supportedInterfaces: _, ...card } = await cardAt(url, '0.3');
      return { url, config: { card }, isSigned: true };
    },
    ...{ door: '/a2a', pushType: 'application/json' },
  },
];

/** Returns the push of the first question that has come to the calling engine. */
const pushOfQuestion = ({ back }: Loop) =>
  back.passed.find(({ path, body }) => path.startsWith('/push/a2a/') && /input.required/i.test(body));

/** Returns what the serving engine has to push of a task, asked over 1.0. */
async function pushConfigsOf({ serving }: Loop, taskId: string): Promise<readonly unknown[]> {
  const params = { jsonrpc: '2.0', id: 1, method: 'ListTaskPushNotificationConfigs', params: { taskId } };
  const { result } = await serving.post<{ result: { configs: readonly unknown[] } }>('/a2a', params, {
    'a2a-version': '1.0',
  });
  return result.configs;
}

describe.each(peers)('a workflow that calls a served one over $name', (peer) => {
  let loop: Loop;
  beforeAll(async () => {
    loop = await openLoop(peer);
  });
  afterAll(() => loop.close());

  it('has its result once, though the reply to the start was lost and both engines were killed at the question', async () => {
    const { serving, calling, there } = loop;
    there.loseNext((body) => body.includes('"skill":"quote"'));
    const runId = await start(loop, 'buys');
    await untilAsked(loop, runId);
    await eventually(async () => {
      expect(pushOfQuestion(loop)).toMatchObject({ status: 202, headers: { 'content-type': peer.pushType } });
    });
    await Promise.all([serving.kill(), calling.kill()]);
    await Promise.all([serving.start(), calling.start()]);
    await answer(loop, runId, { count: 3 });

    const { outcome } = await ended(calling, runId);
    expect(outcome?.result).toMatchObject({
      data: { article: 'bolt', count: 3, cents: 36 },
      asked: [{ message: 'How many?', schema: { required: ['count'] } }],
      result: {
        artifacts: [
          { artifactId: 'terms', parts: [{ text: 'Terms: ' }, { text: '30 days.' }] },
          { artifactId: 'result' },
        ],
      },
    });
    const starts = startsIn(loop, 'quote');
    expect(starts.map(({ path, status, isLost }) => [path.startsWith(peer.door), status, isLost])).toEqual([
      [true, 200, true],
      [true, 200, false],
    ]);
    expect(new Set(starts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    const runs = await served(loop, 'quote');
    expect(runs.map(({ status }) => status)).toEqual(['completed']);
    await eventually(async () => {
      expect(await pushConfigsOf(loop, runs[0]!.runId)).toEqual([]);
    });
  });

  it('takes no push that somebody has changed, or that has no proof', async () => {
    const { calling } = loop;
    const push = pushOfQuestion(loop)!;
    const send = async (body: string, authorization: string | undefined) => {
      const response = await fetch(calling.url + push.path, {
        method: 'POST',
        headers: { 'content-type': peer.pushType, ...(authorization === undefined ? undefined : { authorization }) },
        body,
      });
      return response.status;
    };
    const { authorization } = push.headers;
    expect(await send(push.body, authorization)).toBe(202);
    expect(await send(push.body, undefined)).toBe(401);
    if (loop.agent.isSigned === true)
      expect(await send(push.body.replace(/input.required/i, 'working'), authorization)).toBe(401);
  });

  it('hears the reason when it declines what it is asked and the served one rejects the task', async () => {
    const runId = await start(loop, 'buys');
    await untilAsked(loop, runId);
    await answer(loop, runId, null);
    expect((await ended(loop.calling, runId)).outcome?.error).toMatchObject({
      code: 'REMOTE_TASK_REJECTED',
      message: expect.stringContaining('There is no quote without a count.') as string,
    });
  });

  it('takes its task with it when it is cancelled: the served one cleans up and ends as canceled', async () => {
    const { calling, serving } = loop;
    const runId = await start(loop, 'waits');
    const taskId = await taskOf(loop, runId);
    await calling.post(`/runs/${runId}/cancel`, {});
    expect((await ended(calling, runId)).status).toBe('cancelled');
    expect((await ended(serving, taskId)).status).toBe('cancelled');
    const { events } = await serving.get<{ events: readonly JsonObject[] }>(`/runs/${taskId}/history`);
    expect(events).toContainEqual(expect.objectContaining({ type: 'StepCompleted', result: 'tidied' }));
    await eventually(async () => {
      expect(await pushConfigsOf(loop, taskId)).toEqual([]);
    });
  });
});

describe('a workflow that calls a served one by its address alone', () => {
  it('finds the task of a start whose reply was lost among those that the served engine lists', async () => {
    const loop = await openLoop({ agentAt: async (url) => ({ url, config: { url: `${url}/a2a` } }) });
    try {
      loop.there.loseNext((body) => body.includes('"skill":"endless"'));
      const runId = await start(loop, 'waits');
      const taskId = await taskOf(loop, runId);
      expect(startsIn(loop, 'endless')).toHaveLength(1);
      expect((await served(loop, 'endless')).map((task) => task.runId)).toEqual([taskId]);
    } finally {
      await loop.close();
    }
  });
});
