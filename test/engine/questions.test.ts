import { setImmediate as eventLoop } from 'node:timers/promises';
import { answerWith, askPerson, hasCode, type InputHandler, type JsonObject } from 'outwait';
import { scriptedServer, type ScriptedTask } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import { describe, expect, it } from 'vitest';
import { answerReserveMs } from '../../lib/base/limits.js';
import { formatWhy } from '../../lib/cli/format.js';
import { explainRun } from '../../lib/operations/views/explain-run.js';
import { listQuestions } from '../../lib/operations/views/list-questions.js';
import { externalWaitsOf } from '../../lib/operations/views/list-external-waits.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { settleWait } from '../../lib/operations/requests/settle-wait.js';
import { aFlow, eventTypes, started, WatchedServer, type Flow, type Started } from './support.js';

const costCentre = {
  message: 'Which cost centre?',
  schema: { type: 'object', properties: { costCentre: { type: 'string' } }, required: ['costCentre'] },
};
const approval = { message: 'Release 412 rows?', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } };

/** Returns schemas each of which refers to the next one twice. */
function doubling(count: number): Readonly<Record<string, JsonObject>> {
  const schemas = Array.from({ length: count }, (_, n) => {
    const next = { $ref: `#/$defs/${n + 1}` };
    return [String(n), n === count - 1 ? {} : { allOf: [next, next] }] as const;
  });
  return Object.fromEntries(schemas);
}

function aCall(onInput?: InputHandler): Flow {
  return aFlow(async (ctx) => {
    const call = { server: 'reports', tool: 'export', timeout: { hours: 6 } };
    const outcome = await ctx.callRemoteTask(onInput === undefined ? call : { ...call, onInput });
    return outcome.result;
  });
}

async function asking(flow: Flow, script: ScriptedTask) {
  const server = scriptedServer({ protocol: 'mcp', task: () => ({ result: 'done', ...script }) });
  return { server, ...(await started(flow, { reports: server })) };
}

async function onlyInput({ app }: Started) {
  const [input, ...rest] = await app.inputs();
  if (input === undefined || rest.length > 0) throw new Error(`there are ${rest.length} more questions, or none`);
  return input;
}

describe('a remote task that asks (GB-02)', () => {
  it('is answered by a later turn when there is too little time left for that', async () => {
    const flow = aCall(async (_question, ctx) => {
      await ctx.sleep({ minutes: 10 });
      return { action: 'decline' };
    });
    const { app, runId, server } = await asking(flow, { asks: [costCentre] });
    await app.pass({ minutes: 5 });
    app.clock.moveTo(app.clock.nowMs() + 20 * 60_000);
    await runTurn(app.deps, { runId }, { remainingMs: () => answerReserveMs - 1 });
    expect((await app.history(runId)).events.at(-1)?.type).toBe('RemoteAnswerRequested');
    expect(server.answers).toEqual([]);
    await runTurn(app.deps, { runId }, { remainingMs: () => answerReserveMs });
    expect(server.answers).toHaveLength(1);
  });

  it('whose handler fails outside of a turn lets nothing of the workflow go on there', async () => {
    let fail: (error: Error) => void = () => undefined;
    const heard: string[] = [];
    const flow = aFlow(async (ctx) => {
      const onInput = async (): Promise<never> => new Promise((_, reject) => (fail = reject));
      const call = ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 6 }, onInput });
      return call.catch((error: unknown) => heard.push((error as Error).message));
    });
    const run = await asking(flow, { asks: [costCentre] });
    await run.app.pass({ minutes: 2 });
    fail(new Error('too late'));
    await eventLoop();
    expect(heard).toEqual([]);
  });

  it('is answered by the handler of the call, two questions in a row, each once', async () => {
    const flow = aCall(async ({ message }) => ({ action: 'accept', content: { costCentre: message } }));
    const run = await asking(flow, { asks: [costCentre, approval] });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(run.server.answers).toEqual([
      { key: 'question-1', answer: { action: 'accept', content: { costCentre: 'Which cost centre?' } } },
      { key: 'question-2', answer: { action: 'accept', content: { costCentre: 'Release 412 rows?' } } },
    ]);
    expect(new Set(run.server.delivered).size).toBe(2);
    expect(await eventTypes(run)).toEqual([
      'RunStarted',
      'RemoteTaskRequested',
      'RemoteTaskStarted',
      'RemoteQuestionAsked',
      'RemoteAnswerRequested',
      'RemoteAnswerDelivered',
      'RemoteQuestionAsked',
      'RemoteAnswerRequested',
      'RemoteAnswerDelivered',
      'TokenSettled',
      'RunEnding',
      'RunEnded',
    ]);
  });

  it('is answered with static values, those that the question names', async () => {
    const run = await asking(aCall(answerWith({ costCentre: '4711', other: 1 })), { asks: [costCentre] });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(run.server.answers).toEqual([
      { key: 'question-1', answer: { action: 'accept', content: { costCentre: '4711' } } },
    ]);
  });

  it('fails the call, and is cancelled, when a static answer lacks a required value', async () => {
    const run = await asking(aCall(answerWith({ other: 1 })), { asks: [costCentre] });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_INVALID' } });
    expect(run.server.cancels).toBe(1);
  });

  it('takes no answer from a handler that waited for a promise of its own: a replay would not find it again', async () => {
    let answer: () => void = () => undefined;
    const flow = aFlow(async (ctx) => {
      const call = ctx.callRemoteTask({
        server: 'reports',
        tool: 'export',
        timeout: { hours: 6 },
        onInput: async () => {
          await new Promise<void>((resolve) => {
            answer = resolve;
          });
          return { action: 'accept' as const };
        },
      });
      await ctx.signal('go');
      return (await call).result;
    });
    const run = await asking(flow, { asks: [approval] });
    await run.app.pass({ minutes: 1 });
    answer();
    await run.app.signal(run.runId, 'go');
    await run.app.settleDown();
    const types = await eventTypes(run);
    expect(types).toContain('SignalDelivered');
    expect(types).not.toContain('RemoteAnswerRequested');
  });

  it('lets the handler wait for a step and a signal before it answers', async () => {
    const flow = aCall(async (_question, ctx) => {
      const looked = await ctx.step('look', () => 'found');
      const decision = await ctx.signal('decision');
      return { action: 'accept', content: { looked, decision } };
    });
    const run = await asking(flow, { asks: [approval] });
    await run.app.pass({ minutes: 5 });
    await run.app.signal(run.runId, 'decision', 'yes');
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(run.server.answers).toEqual([
      { key: 'question-1', answer: { action: 'accept', content: { looked: 'found', decision: 'yes' } } },
    ]);
  });

  it('is waited for to the timeout when the call has no handler (S0 behaviour, GB-03)', async () => {
    const run = await asking(aCall(), { asks: [approval] });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'REMOTE_TASK_TIMED_OUT' },
    });
    expect(await eventTypes(run)).not.toContain('RemoteQuestionAsked');
  });

  it('declines and cancels are answers too', async () => {
    const run = await asking(
      aCall(() => ({ action: 'decline' })),
      { asks: [approval] },
    );
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(run.server.answers).toEqual([{ key: 'question-1', answer: { action: 'decline' } }]);
  });

  it('ends the wait of the handler when the task ends by itself', async () => {
    let ended = 'no';
    const flow = aFlow(async (ctx) => {
      const outcome = await ctx.callRemoteTask({
        server: 'reports',
        tool: 'export',
        onInput: async (_question, inner) => {
          try {
            return await inner.ask({ message: 'Really?' });
          } catch (error) {
            ended = hasCode(error, 'RUN_CANCELLED') ? 'closed' : 'otherwise';
            throw error;
          }
        },
      });
      return outcome.result;
    });
    const run = await asking(flow, { asks: [approval] });
    await run.app.pass({ minutes: 1 });
    expect(await run.app.inputs()).toHaveLength(1);
    await run.app.settle(await run.app.tokenOf(run.runId, 'export'), 'by itself');
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'by itself' });
    expect(ended).toBe('closed');
    expect(await run.app.inputs()).toEqual([]);
    expect(run.server.answers).toEqual([]);
  });

  it.each([
    ['RemoteQuestionAsked', 60_000, 1],
    ['RemoteAnswerRequested', 1, 60_000],
  ] as const)('has its %s events in several commits when one should not hold them', async (type, asks, answers) => {
    const flow = aCall(() => ({ action: 'accept', content: 'y'.repeat(answers) }));
    const server = new ScriptedServer({ protocol: 'mcp', task: () => ({ after: { minutes: 2 } }) });
    const get = server.get.bind(server);
    const message = 'x'.repeat(asks);
    server.get = async (handle) => {
      const reply = await get(handle);
      if (reply.kind !== 'working') return reply;
      const questions = Array.from({ length: 12 }, (_, n) => ({ key: `q${n}`, kind: 'form' as const, message }));
      return { ...reply, questions };
    };
    const run = await started(flow, { reports: server });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    const { events } = await run.app.history(run.runId);
    const large = events.filter((event) => event.type === type);
    expect(large).toHaveLength(12);
    const perCommit = large.map(({ seq }) => large.filter((other) => other.seq === seq).length);
    expect(Math.max(...perCommit)).toBe(5);
  });

  it('has 64 of its questions taken in, and nothing more written for it, if it asks something new at each read', async () => {
    const server = new WatchedServer({
      read: (read) => ({
        kind: 'working',
        state: 'input_required',
        questions: [{ key: `q${read}`, kind: 'form', message: `${read}?` }],
      }),
    });
    server.answer = async () => ({ kind: 'done' });
    const flow = aCall(() => ({ action: 'accept' }));
    const run = await started(flow, { reports: server });
    await run.app.pass({ hours: 5 });
    expect(server.readAtMs.length).toBeGreaterThan(100);
    expect((await eventTypes(run)).filter((type) => type === 'RemoteQuestionAsked')).toHaveLength(64);
    expect((await run.app.deps.store.tokens.read(run.runId, '1'))?.questions).toMatchObject({ recorded: 64 });
  });

  it('is noted as taken in once, however often its run goes on while it is open', async () => {
    const flow = aCall(async (_question, ctx) => {
      for (let n = 0; n < 4; n++) await ctx.signal('go');
      return { action: 'accept' };
    });
    const run = await asking(flow, { asks: [approval] });
    const { store } = run.app.deps;
    const takeQuestions = store.questions.take.bind(store.questions);
    let notes = 0;
    store.questions.take = async (...given) => {
      notes++;
      await takeQuestions(...given);
    };
    await run.app.pass({ minutes: 1 });
    for (let n = 0; n < 4; n++) {
      await run.app.signal(run.runId, 'go');
      await run.app.settleDown();
    }
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(notes).toBe(1);
  });

  it('finds its run again when the wake for a question was lost', async () => {
    const run = await asking(
      aCall(() => ({ action: 'accept' })),
      { asks: [approval] },
    );
    const { queues } = run.app.deps;
    await run.app.settleDown();
    const send = queues.sendTurn.bind(queues);
    let lost = 0;
    queues.sendTurn = async (message, dedupId) => {
      if (message.news !== undefined && lost === 0) lost++;
      else await send(message, dedupId);
    };
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(lost).toBe(1);
    expect(run.server.answers).toHaveLength(1);
  });
});

describe('a server that asks before it makes a task (MCP-47, MCP-48)', () => {
  it('is started again with the answers and its state as it came', async () => {
    const flow = aCall(({ message }) => ({ action: 'accept', content: { to: message } }));
    const run = await asking(flow, { asksFirst: [costCentre, approval], asks: [approval], after: { minutes: 1 } });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(run.server.starts).toHaveLength(3);
    expect(new Set(run.server.starts.map(({ key }) => key)).size).toBe(1);
    expect(run.server.answers.map(({ key }) => key)).toEqual(['first', 'first', 'question-1']);
  });

  it('may use the same key again for a question of the task, which is another question', async () => {
    const flow = aCall(({ message }) => ({ action: 'accept', content: message }));
    const task = { result: 'done', asksFirst: [costCentre], asks: [approval], after: { minutes: 1 } };
    const server = new ScriptedServer({ protocol: 'mcp', task: () => task });
    const start = server.start.bind(server);
    server.start = async (request) => {
      const reply = await start(request);
      if (reply.kind !== 'asked') return reply;
      return { ...reply, questions: reply.questions.map((question) => ({ ...question, key: 'question-1' })) };
    };
    const run = await started(flow, { reports: server });
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(server.answers).toEqual([
      { key: 'question-1', answer: { action: 'accept', content: 'Which cost centre?' } },
      { key: 'question-1', answer: { action: 'accept', content: 'Release 412 rows?' } },
    ]);
  });

  it('is given up after eight rounds', async () => {
    const asksFirst = Array.from({ length: 20 }, (_, n) => ({ message: `again ${n}` }));
    const run = await asking(
      aCall(() => ({ action: 'accept' })),
      { asksFirst },
    );
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'REMOTE_START_REFUSED' },
    });
    expect(run.server.starts).toHaveLength(9);
  });

  it('is refused when the call answers nothing', async () => {
    const run = await asking(aCall(), { asksFirst: [approval] });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'REMOTE_START_REFUSED' },
    });
  });

  it('times out at the deadline of the call without an answer', async () => {
    const run = await asking(aCall(askPerson()), { asksFirst: [approval] });
    await run.app.pass({ hours: 5, minutes: 58 });
    expect(await run.app.inputs()).toHaveLength(1);
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'REMOTE_TASK_TIMED_OUT' },
    });
    expect(await run.app.inputs()).toEqual([]);
  });
});

describe('a person who is asked (S2-05, S2-06)', () => {
  it('finds the question with its schema, and answers two in a row', async () => {
    const run = await asking(aCall(askPerson()), { asks: [costCentre, approval] });
    await run.app.pass({ days: 0, hours: 2 });
    const first = await onlyInput(run);
    expect(first).toMatchObject({ runId: run.runId, ...costCentre });
    expect(await run.app.answer(first.inputId, { action: 'accept', content: { costCentre: '4711' } })).toBe(true);
    await run.app.pass({ minutes: 20 });
    const second = await onlyInput(run);
    expect(second.message).toBe('Release 412 rows?');
    expect(await run.app.answer(second.inputId, { action: 'accept', content: { ok: true } })).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
    expect(run.server.answers.map(({ answer }) => answer)).toEqual([
      { action: 'accept', content: { costCentre: '4711' } },
      { action: 'accept', content: { ok: true } },
    ]);
  });

  it.each([
    ['longer than a name', { message: `Which cost centre? ${'x'.repeat(4_000)}` }],
    ['with half of a character', { message: 'Which \ud800?', url: `https://a.example/?q=\udc00${'y'.repeat(300)}` }],
  ] as const)('finds a question that is %s', async (_, question: { message: string; url?: string }) => {
    const run = await asking(aCall(askPerson()), { asks: [question] });
    await run.app.pass({ minutes: 1 });
    const { inputId, message, url } = await onlyInput(run);
    expect([message, url]).toEqual([question.message.toWellFormed(), question.url?.toWellFormed()]);
    expect(await run.app.answer(inputId, { action: 'decline' })).toBe(true);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'done' });
  });

  it('learns of it from the run, which says what is asked and where an answer goes (EN-12)', async () => {
    const run = await asking(aCall(askPerson()), { asks: [approval] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    const why = await explainRun(run.app.deps, run.runId);
    expect(why.waits).toMatchObject([{ questions: ['Release 412 rows?'] }, { question: 'Release 412 rows?', inputId }]);
    expect(formatWhy(why)).toContain('asks: Release 412 rows?');
    expect(formatWhy(why)).toContain(`"Release 412 rows?" (outwait answer ${inputId})`);
  });

  it('wins once when two answer at the same time (A2A-C33)', async () => {
    const run = await asking(aCall(askPerson()), { asks: [approval] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    const answers = await Promise.all([
      run.app.answer(inputId, { action: 'accept', content: { ok: true } }),
      run.app.answer(inputId, { action: 'decline' }),
    ]);
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(run.server.answers).toHaveLength(1);
    expect(await run.app.answer(inputId, { action: 'decline' })).toBe(false);
  });

  it('must fit the schema, and the question stays open until it does', async () => {
    const run = await asking(aCall(askPerson()), { asks: [costCentre] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    await expect(run.app.answer(inputId, { action: 'accept', content: { costCentre: 7 } })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('costCentre') as string,
    });
    expect(await run.app.inputs()).toHaveLength(1);
  });

  it('is not asked with a regular expression of the server', async () => {
    const evil = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const run = await asking(aCall(askPerson()), { asks: [{ message: 'a?', schema: evil }] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    const content = { a: `${'a'.repeat(64)}!` };
    expect(await run.app.answer(inputId, { action: 'accept', content })).toBe(true);
  });

  it.each([
    ['refers to itself', { $ref: '#' }],
    ['refers to nothing', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['has an id that is none', { $id: '::', type: 'object' }],
    ['takes very long', { $ref: '#/$defs/0', $defs: doubling(40) }],
    ['is none', { required: 7, enum: null }],
  ])('can answer although the schema of the server %s', async (_, schema) => {
    const run = await asking(aCall(askPerson()), { asks: [{ message: 'a?', schema }] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    expect(await run.app.answer(inputId, { action: 'accept', content: { a: 1 } })).toBe(true);
  });

  it('must give one of the values that the schema lists, whatever their keys are', async () => {
    const schema = { type: 'object', properties: { a: { enum: [{ pattern: 'x' }] } } };
    const run = await asking(aCall(askPerson()), { asks: [{ message: 'a?', schema }] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    await expect(run.app.answer(inputId, { action: 'accept', content: { a: {} } })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    expect(await run.app.answer(inputId, { action: 'accept', content: { a: { pattern: 'x' } } })).toBe(true);
  });

  it('is told why an answer is wrong in a text of a few KiB, whatever the schema lists', async () => {
    const values = Array.from({ length: 300 }, (_, n) => `value number ${n}`);
    const schema = { properties: { a: { items: { enum: values } } } };
    const run = await asking(aCall(askPerson()), { asks: [{ message: 'a?', schema }] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    const wrong = run.app.answer(inputId, { action: 'accept', content: { a: Array.from({ length: 400 }, () => 1) } });
    const { message } = (await wrong.catch((error: unknown) => error)) as Error;
    expect(message).toMatch(/^the content does not fit the schema of the question: a: .*; a\.0: .*; and 790 more$/);
    expect(message.length).toBeLessThan(5_000);
  });

  it('is not held to a schema that takes minutes to check', async () => {
    const anyOf = Array.from({ length: 3_000 }, (_, n) => ({ const: n }));
    const run = await asking(aCall(askPerson()), { asks: [{ message: 'a?', schema: { items: { anyOf } } }] });
    await run.app.pass({ minutes: 1 });
    const { inputId } = await onlyInput(run);
    const content = Array.from({ length: 15_000 }, () => 'x');
    expect(await run.app.answer(inputId, { action: 'accept', content })).toBe(true);
  });

  it('gets a page of large questions in parts', async () => {
    const asks = Array.from({ length: 60 }, (_, n) => ({ message: `${n}?`, schema: { title: 'x'.repeat(60_000) } }));
    const flow = aFlow((ctx) => Promise.all(asks.map((ask) => ctx.ask(ask))));
    const { app } = await started(flow);
    await app.settleDown();
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await listQuestions(app.deps, { limit: 100, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.inputs.map(({ message }) => message));
      sizes.push(JSON.stringify(page).length);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(60);
    expect(Math.max(...sizes)).toBeLessThan(3 * 1024 * 1024);
  });

  it('fails the call when there is no answer in time (A2A-C35)', async () => {
    const run = await asking(aCall(askPerson({ timeout: { hours: 1 } })), { asks: [approval] });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'failed', error: { code: 'INPUT_TIMED_OUT' } });
    expect(run.server.cancels).toBe(1);
  });

  it('is replaced by the answer that was configured for that case', async () => {
    const flow = aCall(askPerson({ timeout: { hours: 1 }, ifUnanswered: { action: 'decline' } }));
    const run = await asking(flow, { asks: [approval] });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({ status: 'completed' });
    expect(run.server.answers).toEqual([{ key: 'question-1', answer: { action: 'decline' } }]);
  });

  it('is not asked any more when the run was cancelled (A2A-C57)', async () => {
    const run = await asking(aCall(askPerson()), { asks: [approval] });
    await run.app.pass({ minutes: 1 });
    await run.app.cancel(run.runId);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'cancelled' });
    expect(await run.app.inputs()).toEqual([]);
    expect(run.server.answers).toEqual([]);
  });

  it('is the only one who can accept: a relay or an operator settles no question with a result', async () => {
    const run = await started(aFlow((ctx) => ctx.ask({ message: 'Ship it?' })));
    await run.app.settleDown();
    const { deps } = run.app;
    const completed = { kind: 'completed', result: 'yes', isError: false } as const;
    await expect(settleWait(deps, run.runId, '1', completed)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'this wait is a question: it takes an answer, not a result',
    });
    expect(await run.app.inputs()).toHaveLength(1);
    expect(await externalWaitsOf(deps, run.runId)).toEqual([]);
    const failed = { kind: 'failed', message: 'nobody is there' } as const;
    expect(await settleWait(deps, run.runId, '1', failed)).toEqual({ settled: true });
    expect(await run.app.runToEnd(run.runId)).toMatchObject({
      status: 'failed',
      error: { code: 'EXTERNAL_FAILED', message: 'nobody is there' },
    });
    expect(await settleWait(deps, run.runId, '1', completed)).toMatchObject({ settled: false });
  });

  it('can be asked by a workflow alone', async () => {
    const flow = aFlow((ctx) => ctx.ask({ message: 'Ship it?', timeout: { days: 3 } }));
    const run = await started(flow);
    await run.app.pass({ days: 1 });
    const { inputId } = await onlyInput(run);
    expect((await run.app.show(run.runId)).waits).toMatchObject([{ kind: 'external', question: 'Ship it?', inputId }]);
    await run.app.answer(inputId, { action: 'accept', content: { yes: true } });
    expect(await run.app.runToEnd(run.runId)).toEqual({
      status: 'completed',
      result: { action: 'accept', content: { yes: true } },
    });
  });
});
