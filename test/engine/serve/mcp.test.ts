import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import type { JsonObject } from '../../../lib/base/json.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { callsMeta } from '../../../lib/base/mcp-meta.js';
import { declaresForms, declaresTasks } from '../../support/mcp-requests.js';
import { both, during, served } from './served-mcp.js';

// Ids in the names are those of the edge cases of servers.

const choice = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };

describe('a served workflow, over MCP with tasks', () => {
  it('MCP-S62: is a task that can be read at once: working with what it says, then completed with its result', async () => {
    const { app, start, get } = served(async (ctx) => {
      ctx.progress('half');
      await ctx.sleep({ minutes: 1 });
      return { rows: 3 };
    });
    const taskId = await start();
    expect(await get(taskId)).toMatchObject({ taskId, status: 'working', ttlMs: null, pollIntervalMs: 1_000 });
    await app.settleDown();
    expect(await get(taskId)).toMatchObject({ status: 'working', statusMessage: 'half' });
    await app.pass({ minutes: 2 });
    expect(await get(taskId)).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', structuredContent: { rows: 3 }, isError: false },
    });
  });

  it('MCP-S67: is cancelled after the acknowledgement, and a cancel of one that has ended is acknowledged too', async () => {
    const { app, start, get, modern } = served(async (ctx) => ctx.sleep({ hours: 1 }));
    const taskId = await start();
    await app.settleDown();
    const ack = { resultType: 'complete' };
    const first = await modern('tasks/cancel', { taskId });
    expect(first.body.result).toMatchObject(ack);
    expect(first.body.result).not.toHaveProperty('taskId');
    await app.settleDown();
    expect((await get(taskId))['status']).toBe('cancelled');
    expect((await modern('tasks/cancel', { taskId })).body.result).toMatchObject(ack);
    expect(await get(taskId)).not.toHaveProperty('result');
  });

  it('MCP-S67: that has completed stays so when it is cancelled', async () => {
    const { app, start, get, modern } = served(async () => 'done');
    const taskId = await start();
    await app.settleDown();
    expect((await modern('tasks/cancel', { taskId })).body.result).toMatchObject({ resultType: 'complete' });
    expect(await get(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text: 'done' }] } });
  });

  it('MCP-S68: takes the answers to open questions by their keys; others are ignored, and one that does not fit leaves its question open', async () => {
    const { app, start, get, modern } = served(async (ctx) => {
      const ask = async (name: string) => ctx.ask({ to: 'caller', name, message: `${name}?`, schema: choice });
      return (await Promise.all([ask('first'), ask('second')])).map(({ action }) => action);
    });
    const taskId = await start();
    await app.settleDown();
    const asked = (await get(taskId))['inputRequests'] as JsonObject;
    const [first = '', second = ''] = Object.keys(asked);
    expect(asked[first]).toMatchObject({
      method: 'elicitation/create',
      params: { mode: 'form', message: 'first?', requestedSchema: choice },
    });
    const update = async (inputResponses: JsonObject) =>
      during(app, modern('tasks/update', { taskId, inputResponses }, { capabilities: both }));
    const yes = { action: 'accept', content: { ok: true } };
    expect((await update({ nonsense: yes })).body.result).toMatchObject({ resultType: 'complete' });
    const refused = await update({ [second]: { action: 'accept', content: { ok: 'maybe' } } });
    expect(refused.body.error?.code).toBe(-32602);
    expect(Object.keys((await get(taskId))['inputRequests'] as object)).toEqual([first, second]);
    expect((await update({ [second]: yes, nonsense: yes })).body.result).not.toHaveProperty('taskId');
    expect(await get(taskId)).toMatchObject({ status: 'input_required' });
    expect(Object.keys((await get(taskId))['inputRequests'] as object)).toEqual([first]);
    // Answered before.
    await update({ [second]: { action: 'decline' } });
    await update({ [first]: { action: 'decline' } });
    expect(await get(taskId)).toMatchObject({
      status: 'completed',
      result: { structuredContent: ['decline', 'accept'] },
    });
  });

  it('MCP-S69: asks each question under a key of its own, also after it has continued as a new run', async () => {
    const { app, start, get, modern } = served(async (ctx, input) => {
      const round = ((input as { readonly round?: number } | undefined)?.round ?? 0) + 1;
      await ctx.ask({ to: 'caller', message: 'Again?' });
      if (round < 3) await ctx.continueAsNew({ round });
      return round;
    });
    const taskId = await start();
    const keys: string[] = [];
    for (let round = 0; round < 3; round++) {
      await app.settleDown();
      const [key = ''] = Object.keys((await get(taskId))['inputRequests'] as object);
      keys.push(key);
      const inputResponses = { [key]: { action: 'accept', content: { text: 'yes' } } };
      await during(app, modern('tasks/update', { taskId, inputResponses }, { capabilities: both }));
    }
    expect(new Set(keys).size).toBe(3);
    expect((await get(taskId))['status']).toBe('completed');
  });

  it('shows a client without forms that it waits, and for what', async () => {
    const { app, start, get } = served(async (ctx) => ctx.ask({ to: 'caller', message: 'Which month?' }));
    const taskId = await start();
    await app.settleDown();
    expect(await get(taskId, declaresTasks)).toMatchObject({
      status: 'working',
      statusMessage: 'Waits for an answer: Which month?',
    });
    const url = { ...declaresTasks, elicitation: { url: {} } };
    expect((await get(taskId, url))['status']).toBe('working');
    expect((await get(taskId, { ...declaresTasks, elicitation: {} }))['status']).toBe('input_required');
  });

  it('asks for what no form can hold as JSON', async () => {
    const schema = { type: 'object', properties: { rows: { type: 'array', items: { type: 'number' } } } };
    const { app, start, get, modern } = served(async (ctx) => {
      const answer = await ctx.ask({ to: 'caller', message: 'Rows?', schema });
      return answer.action === 'accept' ? answer.content : undefined;
    });
    const taskId = await start();
    await app.settleDown();
    const [found] = Object.entries((await get(taskId))['inputRequests'] as JsonObject);
    const [key, request] = found ?? ['', undefined];
    expect(JSON.stringify(request)).toContain('"json":{"type":"string"');
    const inputResponses = { [key]: { action: 'accept', content: { json: '{"rows":[1]}' } } };
    await during(app, modern('tasks/update', { taskId, inputResponses }, { capabilities: both }));
    expect(await get(taskId)).toMatchObject({ result: { structuredContent: { rows: [1] } } });
  });

  it.each([
    ['nested too deeply', `{"rows":${'['.repeat(100)}${']'.repeat(100)}}`],
    ['with a number that is too large', '{"rows":[1e999]}'],
    ['of too many values', `{"rows":[${'0,'.repeat(100_000)}0]}`],
  ])('leaves its question open at an answer in JSON that is %s', async (_, json) => {
    const schema = { type: 'object', properties: { rows: { type: 'array', items: {} } } };
    const { app, start, get, modern } = served(async (ctx) => ctx.ask({ to: 'caller', message: 'Rows?', schema }));
    const taskId = await start();
    await app.settleDown();
    const [key = ''] = Object.keys((await get(taskId))['inputRequests'] as JsonObject);
    const inputResponses = { [key]: { action: 'accept', content: { json } } };
    const { body } = await during(app, modern('tasks/update', { taskId, inputResponses }, { capabilities: both }));
    expect(body.error).toMatchObject({ code: -32602, message: 'the field "json" must be JSON, within its limits' });
    expect((await get(taskId))['status']).toBe('input_required');
  });

  it.each([
    ['completed with an error when its workflow throws', () => new Error('password'), 'completed'],
    ['failed by a fault of the engine', () => new EngineError('INTERNAL', 'password'), 'failed'],
  ])('MCP-S70: has %s, and nothing of what happened inside is told', async (_, error, status) => {
    const { app, start, get } = served(async () => {
      throw error();
    });
    const taskId = await start();
    await app.settleDown();
    const task = await get(taskId);
    expect(task['status']).toBe(status);
    expect(task).toMatchObject(status === 'failed' ? { error: { code: -32603 } } : { result: { isError: true } });
    expect(JSON.stringify(task)).not.toContain('password');
  });

  it('MCP-S72: is one task for starts at once under one key', async () => {
    const { start } = served(async () => 'done');
    const headers = { 'idempotency-key': 'k' };
    const ids = await Promise.all(Array.from({ length: 20 }, () => start({ headers })));
    expect(new Set(ids).size).toBe(1);
    expect(await start({ headers, caller: 'bob' })).not.toBe(ids[0]);
  });

  it('is refused where it would end a chain of calls that is too long, and sends on the chain that it has', async () => {
    const { app, modern, start } = served(async () => 'done');
    const calls = (count: number) => ({
      meta: { [callsMeta]: Array.from({ length: count }, (_, at) => `mark ${at}`) },
    });
    const taskId = await start(calls(4));
    expect((await app.deps.store.heads.read(taskId))?.calls).toHaveLength(5);
    expect((await modern('tools/call', { name: 'flow' }, calls(5))).body.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('the call has come through 5 agents, and may through 4') as unknown }],
    });
    const { body } = await modern('tools/call', { name: 'flow' }, { meta: { [callsMeta]: 7 } });
    expect(body.result).toMatchObject({ isError: true });
  });

  it('MCP-S73: is followed by a subscriber, from how it is to its end', async () => {
    const { app, start, modern } = served(async (ctx) => {
      ctx.progress('half');
      await ctx.sleep({ minutes: 1 });
      return 'done';
    });
    const taskId = await start();
    await app.settleDown();
    const notifications = { taskIds: [taskId, 'f'.repeat(32)] };
    const refused = await modern('subscriptions/listen', { notifications }, { capabilities: {} });
    expect(refused.body.error?.code).toBe(-32021);
    const { messages } = await during(app, modern('subscriptions/listen', { notifications }), 100);
    expect(messages[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] } },
    });
    const states = messages.slice(1, -1).map(({ params }) => (params as JsonObject)['status']);
    expect(states).toEqual(['working', 'completed']);
    for (const message of messages)
      expect(JSON.stringify(message)).toContain('"io.modelcontextprotocol/subscriptionId":"q1"');
    expect(messages.at(-1)).toMatchObject({ id: 'q1', result: { resultType: 'complete' } });
  });
});

describe('a served workflow, for a host without tasks', () => {
  const plain = { capabilities: {} };

  it('answers at once if it takes less than 20 s, otherwise with a handle that gives the result later', async () => {
    const { app, modern } = served(async (ctx, input) => {
      await ctx.sleep({ seconds: (input as { readonly seconds: number }).seconds });
      return { rows: 3 };
    });
    const call = async (seconds: number) => modern('tools/call', { name: 'flow', arguments: { seconds } }, plain);
    const prompt = await during(app, call(10), 30);
    expect(prompt.body.result).toMatchObject({ structuredContent: { rows: 3 } });
    const { result = {} } = (await during(app, call(600), 30)).body;
    const { runId } = result['structuredContent'] as { readonly runId: string };
    expect(result).toMatchObject({ isError: false, structuredContent: { status: 'working', tool: 'flow' } });
    const text = JSON.stringify(result['content']);
    expect(text).toContain('run_status');
    const use = async (name: string, args: JsonObject = { runId }) =>
      modern('tools/call', { name, arguments: args }, plain);
    expect((await use('run_status')).body.result).toMatchObject({ structuredContent: { status: 'working' } });
    const waited = await during(app, use('wait_for_run'), 60);
    expect(waited.body.result).toMatchObject({ structuredContent: { runId, status: 'working' } });
    await app.pass({ minutes: 10 });
    for (const tool of ['run_status', 'wait_for_run', 'cancel_run'])
      expect((await use(tool)).body.result).toMatchObject({
        content: [{ text: '{"rows":3}' }],
        structuredContent: { runId, status: 'completed', result: { rows: 3 } },
      });
    // A host that has lost the handle.
    const { result: list } = (await use('run_status', {})).body;
    expect(JSON.stringify(list)).toContain(runId);
    expect(
      (await modern('tools/call', { name: 'run_status', arguments: { runId } }, { ...plain, caller: 'bob' })).body
        .result,
    ).toMatchObject({ isError: true });
  });

  it('is started without a wait, asked and answered by the tools for runs', async () => {
    const { app, modern } = served(async (ctx) => {
      const answer = await ctx.ask({ to: 'caller', message: 'Go on?', schema: choice });
      return answer.action;
    });
    const use = async (name: string, args: JsonObject) =>
      ((await modern('tools/call', { name, arguments: args }, plain)).body.result ?? {}) as {
        readonly structuredContent: { readonly runId: string; readonly questions: readonly { readonly key: string }[] };
      };
    const { structuredContent: started } = await use('start_run', { tool: 'flow', key: 'k' });
    expect((await use('start_run', { tool: 'flow', key: 'k' })).structuredContent.runId).toBe(started.runId);
    await app.settleDown();
    const { runId } = started;
    const asked = await use('wait_for_run', { runId });
    const [question] = asked.structuredContent.questions;
    expect(JSON.stringify(asked)).toContain('Go on?');
    const answer = { runId, question: question?.key ?? '', content: { ok: true } };
    const signalled = use('signal_run', answer);
    await app.pass({ seconds: 3 });
    // The handle does not show the question again, or a model would answer it again.
    expect(JSON.stringify(await signalled)).not.toContain('Go on?');
    expect(await use('run_status', { runId })).toMatchObject({
      structuredContent: { status: 'completed', result: 'accept' },
    });
    expect(await use('start_run', { tool: 'nonsense' })).toMatchObject({ isError: true });
    expect(await use('signal_run', { runId: 'f'.repeat(32), text: 'x' })).toMatchObject({ isError: true });
  });

  it.each(['\ud800', 'a\nb', '\u0000', 'k'.repeat(256), '\u200b'])(
    'is told that %j is neither the key of a start nor that of a question',
    async (key) => {
      const { app, modern } = served(async (ctx) => ctx.ask({ to: 'caller', message: 'Go on?' }));
      const use = async (name: string, args: JsonObject) =>
        (await modern('tools/call', { name, arguments: args }, plain)).body.result;
      expect(await use('start_run', { tool: 'flow', key })).toMatchObject({ isError: true });
      await use('start_run', { tool: 'flow', key: 'k' });
      await app.settleDown();
      const { runs } = (await use('run_status', {}))?.['structuredContent'] as { runs: readonly { runId: string }[] };
      expect(runs).toHaveLength(1);
      const answer = { runId: runs[0]?.runId ?? '', question: key, text: 'x' };
      expect(await use('signal_run', answer)).toMatchObject({ isError: true });
    },
  );

  it('is answered in time when a batch calls it fifty times, with handles of what has not ended', async () => {
    const { app, raw } = served(async (ctx) => ctx.sleep({ hours: 1 }));
    const { clock } = (app as unknown as { readonly deps: Deps }).deps;
    const beganAtMs = clock.nowMs();
    const params = { name: 'flow', arguments: {} };
    const batch = Array.from({ length: 50 }, (__, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params }));
    const { text } = await during(app, raw(JSON.stringify(batch), {}));
    const responses = JSON.parse(text) as readonly { readonly result: JsonObject }[];
    const ids = responses.map(({ result }) => (result['structuredContent'] as JsonObject)['runId']);
    expect(new Set(ids).size).toBe(50);
    expect(clock.nowMs() - beganAtMs).toBeLessThan(60_000);
  });

  it('is told that a question has been answered otherwise, and that a key is that of another start', async () => {
    const { app, modern } = served(async (ctx) => {
      await ctx.ask({ to: 'caller', message: 'Go on?' });
      await ctx.sleep({ hours: 1 });
    });
    const use = async (name: string, args: JsonObject) =>
      ((await during(app, modern('tools/call', { name, arguments: args }, plain), 3)).body.result ?? {}) as {
        readonly isError: boolean;
        readonly content: readonly { readonly text: string }[];
        readonly structuredContent: { readonly runId: string; readonly questions: readonly { readonly key: string }[] };
      };
    const { runId } = (await use('start_run', { tool: 'flow', key: 'k' })).structuredContent;
    const question = (await use('run_status', { runId })).structuredContent.questions[0]?.key ?? '';
    expect((await use('signal_run', { runId, question, text: 'yes' })).isError).toBe(false);
    expect((await use('signal_run', { runId, question, text: 'yes' })).isError).toBe(false);
    const other = await use('signal_run', { runId, question, text: 'no' });
    expect([other.isError, other.content[0]?.text]).toEqual([
      true,
      'the question has been answered, or its time is over.',
    ]);
    const reused = await use('start_run', { tool: 'flow', key: 'k', arguments: { other: 1 } });
    expect([reused.isError, reused.content[0]?.text]).toEqual([true, expect.stringContaining('key was used before')]);
  });

  it('is told how large what is left out of its result is', async () => {
    const { app, modern } = served(async (ctx) => {
      for (let at = 0; at < 60; at++) ctx.artifact({ artifactId: `a${at}`, text: 'x'.repeat(60_000), lastChunk: true });
      return 'y'.repeat(100_000);
    });
    const { body } = await during(app, modern('tools/call', { name: 'flow' }, plain), 10);
    const text = JSON.stringify(body);
    expect(text.length).toBeLessThan(3_000_000);
    expect(text).toContain('yyyy');
    expect(text).toContain('left out: 60');
    const { body: list } = await modern('tools/call', { name: 'run_status', arguments: {} }, plain);
    expect(JSON.stringify(list)).toContain('completed');
    expect(JSON.stringify(list)).not.toContain('yyyy');
  });

  it('asks a client that has forms in answer to its call, once for each question', async () => {
    const { app, modern } = served(async (ctx) => {
      const answers: unknown[] = [];
      for (let round = 0; round < 2; round++)
        answers.push(await ctx.ask({ to: 'caller', name: 'sure', message: `Sure ${round}?`, schema: choice }));
      return answers.length;
    });
    const call = async (more: JsonObject = {}) =>
      during(app, modern('tools/call', { name: 'flow', ...more }, { capabilities: declaresForms }));
    const { result: first = {} } = (await call()).body;
    expect(first).toMatchObject({ resultType: 'input_required' });
    expect(Object.keys(first['inputRequests'] as object)).toEqual(['sure']);
    const { requestState } = first as { readonly requestState: string };
    const inputResponses = { sure: { action: 'accept', content: { ok: true } } };
    const { result: second = {} } = (await call({ requestState, inputResponses })).body;
    expect(JSON.stringify(second['inputRequests'])).toContain('Sure 1?');
    // The same request again, whose reply was lost: it does not answer the second question.
    const { result: again = {} } = (await call({ requestState, inputResponses })).body;
    expect(JSON.stringify(again['inputRequests'])).toContain('Sure 1?');
    const tampered = await call({ requestState: `${requestState}0`, inputResponses });
    expect(tampered.body.error?.code).toBe(-32602);
    const other = await call({ requestState, inputResponses, arguments: { other: true } });
    expect(other.body.error?.code).toBe(-32602);
    const third = await call({ requestState: second['requestState'] ?? '', inputResponses });
    expect(third.body.result).toMatchObject({ resultType: 'complete', structuredContent: 2 });
  });

  it('sends what it says to a client that wants to hear of progress', async () => {
    const { app, modern } = served(async (ctx) => {
      ctx.progress('one');
      await ctx.sleep({ seconds: 2 });
      ctx.progress({ progress: 50, total: 100 });
      await ctx.sleep({ seconds: 2 });
      return 'done';
    });
    const request = modern('tools/call', { name: 'flow' }, { ...plain, meta: { progressToken: 'p' } });
    const { messages } = await during(app, request, 10);
    expect(messages.slice(0, -1).map(({ params }) => params)).toEqual([
      { progressToken: 'p', message: 'one', progress: 0 },
      { progressToken: 'p', total: 100, progress: 50 },
    ]);
    expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });

  it('waits for nothing where as many streams and waits are open as there may be', async () => {
    const { app, modern, legacy } = served(
      async (ctx) => ctx.signal('never'),
      {},
      async () => undefined,
    );
    const { deps } = app as unknown as { readonly deps: Deps };
    const beganAtMs = deps.clock.nowMs();
    const call = async (name: string, args: JsonObject, meta?: JsonObject) =>
      modern('tools/call', { name, arguments: args }, { ...plain, ...(meta === undefined ? {} : { meta }) });
    const handle = (await call('flow', {})).body.result?.['structuredContent'] as { readonly runId: string };
    const withProgress = await call('flow', {}, { progressToken: 'p' });
    expect(withProgress.messages).toMatchObject([{ result: { structuredContent: { status: 'working' } } }]);
    const { runId } = handle;
    expect((await call('wait_for_run', { runId })).body.result).toMatchObject({ structuredContent: { runId } });
    expect((await legacy('tasks/cancel', { taskId: runId })).body.error?.message).toContain('ask again');
    expect(deps.clock.nowMs()).toBe(beganAtMs);
  });

  it('shows the progress and the result of a call that brings answers', async () => {
    const { app, modern } = served(async (ctx) => {
      await ctx.ask({ to: 'caller', name: 'sure', message: 'Sure?', schema: choice });
      ctx.progress('on');
      await ctx.sleep({ seconds: 2 });
      return 'done';
    });
    const call = async (more: JsonObject = {}) => {
      const asked = { capabilities: declaresForms, meta: { progressToken: 'p' } };
      return (await during(app, modern('tools/call', { name: 'flow', ...more }, asked), 10)).messages;
    };
    const { requestState } = (await call()).at(-1)!['result'] as { readonly requestState: string };
    const messages = await call({
      requestState,
      inputResponses: { sure: { action: 'accept', content: { ok: true } } },
    });
    expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });
});

describe('a served workflow, over MCP 2025-11-25', () => {
  it('is a task of that revision, whose result is waited for', async () => {
    const { app, legacy } = served(async (ctx) => {
      await ctx.sleep({ minutes: 1 });
      return { rows: 3 };
    });
    const made = await legacy('tools/call', { name: 'flow', task: { ttl: 1_000 } });
    const { task } = made.body.result as { readonly task: { readonly taskId: string } };
    expect(task).toMatchObject({ status: 'working', ttl: null, pollInterval: 1_000 });
    const { taskId } = task;
    await app.settleDown();
    const done = await during(app, legacy('tasks/result', { taskId }), 100);
    expect(done.body).toMatchObject({
      id: 1,
      result: {
        structuredContent: { rows: 3 },
        _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
      },
    });
    expect((await legacy('tasks/get', { taskId })).body.result).toMatchObject({ status: 'completed' });
    expect((await legacy('tasks/cancel', { taskId })).body.error?.code).toBe(-32602);
    expect((await legacy('tasks/list')).body.error?.code).toBe(-32601);
    expect((await legacy('tasks/get', { taskId }, '2025-06-18')).body.error?.code).toBe(-32601);
  });

  it('is told cancelled only when it is, and asks nobody', async () => {
    const { app, legacy } = served(async (ctx) => ctx.ask({ to: 'caller', message: 'Which month?' }));
    const made = await legacy('tools/call', { name: 'flow', task: {} });
    const { taskId } = (made.body.result as { readonly task: { readonly taskId: string } }).task;
    await app.settleDown();
    expect((await legacy('tasks/get', { taskId })).body.result).toMatchObject({
      status: 'working',
      statusMessage: 'Waits for an answer: Which month?',
    });
    const cancelled = await during(app, legacy('tasks/cancel', { taskId }), 10);
    expect(cancelled.body.result).toMatchObject({ taskId, status: 'cancelled' });
    expect((await legacy('tasks/result', { taskId })).body.error?.code).toBe(-32602);
  });

  it('has failed when its workflow throws, and its result says so', async () => {
    const { app, legacy } = served(async () => {
      throw new Error('no');
    });
    const made = await legacy('tools/call', { name: 'flow', task: {} });
    const { taskId } = (made.body.result as { readonly task: { readonly taskId: string } }).task;
    await app.settleDown();
    expect((await legacy('tasks/get', { taskId })).body.result).toMatchObject({ status: 'failed' });
    expect((await legacy('tasks/result', { taskId })).body.result).toMatchObject({ isError: true });
  });
});
