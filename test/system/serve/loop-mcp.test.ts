import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { answer, ended, type Loop, openLoop, served, start, taskOf, untilAsked } from './loop.js';

const callsOf = ({ there }: Loop, tool: string) =>
  there.passed.filter(({ body }) => body.includes('"tools/call"') && body.includes(`"name":"${tool}"`));

describe('a workflow that calls a served one over MCP', () => {
  let loop: Loop;
  beforeAll(async () => {
    loop = await openLoop({ agentAt: async (url) => ({ url, config: { url }, isMcp: true }) });
  });
  afterAll(() => loop.close());

  it('has its result once, though the reply to the start was lost and both engines were killed at the question', async () => {
    const { serving, calling, there } = loop;
    there.loseNext((body) => body.includes('"tools/call"') && body.includes('"name":"quote"'));
    const runId = await start(loop, 'buys');
    await untilAsked(loop, runId);
    await Promise.all([serving.kill(), calling.kill()]);
    await Promise.all([serving.start(), calling.start()]);
    await answer(loop, runId, { count: 3 });
    const { outcome } = await ended(calling, runId);
    expect(outcome?.result).toMatchObject({
      data: { article: 'bolt', count: 3, cents: 36 },
      asked: [{ message: 'How many?', schema: { required: ['count'] } }],
    });
    const starts = callsOf(loop, 'quote');
    expect(starts.map(({ path, isLost }) => [path, isLost])).toEqual([
      ['/mcp', true],
      ['/mcp', false],
    ]);
    expect(new Set(starts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect((await served(loop, 'quote')).map(({ status }) => status)).toEqual(['completed']);
  });

  it('has an outcome that is marked as an error when it declines what it is asked and the served one rejects', async () => {
    const runId = await start(loop, 'buys');
    await untilAsked(loop, runId);
    await answer(loop, runId, null);
    const { outcome } = await ended(loop.calling, runId);
    expect(outcome?.result?.['result']).toMatchObject({ isError: true });
    expect(JSON.stringify(outcome)).toContain('There is no quote without a count.');
  });

  it('takes its task with it when it is cancelled: the served one cleans up and ends as cancelled', async () => {
    const { calling, serving } = loop;
    const runId = await start(loop, 'waits');
    const taskId = await taskOf(loop, runId);
    await calling.post(`/runs/${runId}/cancel`, {});
    expect((await ended(calling, runId)).status).toBe('cancelled');
    expect((await ended(serving, taskId)).status).toBe('cancelled');
    const { events } = await serving.get<{ events: readonly JsonObject[] }>(`/runs/${taskId}/history`);
    expect(events).toContainEqual(expect.objectContaining({ type: 'StepCompleted', result: 'tidied' }));
  });
});
