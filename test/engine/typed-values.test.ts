import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ScriptedTask } from 'outwait/testing';
import { ScriptedServer } from '../../lib/testing/scripted-server.js';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { externalWaitsOf } from '../../lib/operations/views/list-external-waits.js';
import { aFlow, started, type Started } from './support.js';

const rows = z.object({ rows: z.coerce.number() });

/** Returns what a call with an `output` schema makes of a result, or the error that ends its run. */
async function outputOf(task: ScriptedTask, output: StandardSchemaV1 = rows): Promise<unknown> {
  const reports = new ScriptedServer({ protocol: 'mcp', task: () => ({ after: { minutes: 5 }, ...task }) });
  const flow = aFlow(async (ctx) => {
    const { data, isError } = await ctx.callRemoteTask({ server: 'reports', tool: 'export', output });
    return { data, isError };
  });
  const { app, runId } = await started(flow, { reports });
  const outcome = await app.runToEnd(runId);
  return outcome.status === 'failed' ? outcome.error : outcome;
}

const text = (said: string) => ({ content: [{ type: 'text', text: said }] });

describe('the output of a remote call', () => {
  it.each([
    ['structured content', { ...text('12 rows'), structuredContent: { rows: '12' } }],
    ['JSON in its text', text('{ "rows": 12 }')],
    ['a data part of an artifact', { artifacts: [{ parts: [{ data: { rows: 12 } }] }] }],
  ])('is what the schema makes of %s', async (_where, result) => {
    expect(await outputOf({ result })).toEqual({ status: 'completed', result: { data: { rows: 12 }, isError: false } });
  });

  it('is text where the schema takes text', async () => {
    expect(await outputOf({ result: text('twelve') }, z.string())).toMatchObject({ result: { data: 'twelve' } });
  });

  it('that does not fit ends the call, with the raw result', async () => {
    const result = text('{ "rows": "many" }');
    expect(await outputOf({ result })).toMatchObject({
      code: 'REMOTE_RESULT_INVALID',
      message: expect.stringMatching(
        /^the result of the remote task on "reports" does not fit its schema: rows: /,
      ) as string,
      details: { server: 'reports', result },
    });
  });

  it('is missing where the tool says that it failed', async () => {
    const ended = await outputOf({ result: text('no such month'), isError: true });
    expect(ended).toEqual({ status: 'completed', result: { isError: true } });
  });
});

describe('a signal with a schema', () => {
  const decision = z.object({ ok: z.boolean(), by: z.string().default('nobody') });
  const reject = async (wait: Promise<unknown>): Promise<unknown> =>
    wait.catch((error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    });

  it('is given to the workflow as the schema makes it', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.signal('go', { schema: decision })));
    await app.signal(runId, 'go', { ok: true });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { ok: true, by: 'nobody' } });
  });

  it('fails its wait when it does not fit, and the next one is taken by the next wait', async () => {
    const flow = aFlow(async (ctx) => [
      await reject(ctx.signal('go', { schema: decision })),
      await ctx.signal('go', { schema: decision }),
    ]);
    const { app, runId } = await started(flow);
    await app.signal(runId, 'go', { ok: 'yes' });
    await app.signal(runId, 'go', { ok: false, by: 'Ann' });
    expect(await app.runToEnd(runId)).toMatchObject({
      result: [
        {
          code: 'INPUT_INVALID',
          message: expect.stringMatching(/^the payload of signal "go" does not fit its schema: ok: /) as string,
        },
        { ok: false, by: 'Ann' },
      ],
    });
  });

  it('is chosen by what the schema makes of it', async () => {
    const flow = aFlow(async (ctx) => ctx.signal('go', { schema: decision, where: ({ by }) => by === 'nobody' }));
    const { app, runId } = await started(flow);
    await app.signal(runId, 'go', { ok: true, by: 'Ann' });
    await app.signal(runId, 'go', { ok: true });
    expect(await app.runToEnd(runId)).toMatchObject({ result: { by: 'nobody' } });
  });
});

describe('a token with a schema', () => {
  const amount = z.object({ cents: z.number() });
  const tokenOf = async ({ app, runId }: Started): Promise<string> => {
    await app.settleDown();
    const [wait] = await externalWaitsOf(app.deps, runId);
    return wait!.token;
  };

  it('gives its result as the schema makes it, and an error as it is', async () => {
    const flow = aFlow(async (ctx) => (await ctx.externalToken({ schema: amount })).outcome);
    const [good, bad] = [await started(flow), await started(flow)];
    await good.app.settle(await tokenOf(good), { cents: 5, more: true });
    expect(await good.app.runToEnd(good.runId)).toMatchObject({ result: { result: { cents: 5 }, isError: false } });
    await bad.app.settle(await tokenOf(bad), { cents: 'five' });
    expect(await bad.app.runToEnd(bad.runId)).toMatchObject({ error: { code: 'INPUT_INVALID' } });
  });

  it('resolves its promise to what the schema makes of the value, or rejects it', async () => {
    const flow = aFlow(async (ctx) => (await ctx.promise({ schema: amount })).promise);
    const [good, bad] = [await started(flow), await started(flow)];
    await good.app.settle(await tokenOf(good), { cents: 5 });
    expect(await good.app.runToEnd(good.runId)).toEqual({ status: 'completed', result: { cents: 5 } });
    await bad.app.settle(await tokenOf(bad), 5);
    expect(await bad.app.runToEnd(bad.runId)).toMatchObject({ error: { code: 'INPUT_INVALID' } });
  });
});

describe('a question with a schema', () => {
  const choice = z.object({ ok: z.boolean() });

  it('shows it as JSON Schema, and gives the answer as it makes it', async () => {
    const flow = aFlow(async (ctx) => ctx.ask({ message: 'May it go?', schema: choice }));
    const { app, runId } = await started(flow);
    await app.settleDown();
    const [input] = await app.inputs();
    expect(input).toMatchObject({
      schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
    });
    await app.answer(input!.inputId, { action: 'accept', content: { ok: true } });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: { action: 'accept', content: { ok: true } },
    });
  });

  it('is given what else a person may say', async () => {
    const { app, runId } = await started(aFlow(async (ctx) => ctx.ask({ message: 'May it go?', schema: choice })));
    await app.settleDown();
    const [input] = await app.inputs();
    await app.answer(input!.inputId, { action: 'decline' });
    expect(await app.runToEnd(runId)).toMatchObject({ result: { action: 'decline' } });
  });

  it('is refused with a schema that cannot be written as JSON Schema', async () => {
    const bare = { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) } } as never;
    const { app, runId } = await started(aFlow(async (ctx) => ctx.ask({ message: 'May it go?', schema: bare })));
    expect(await app.runToEnd(runId)).toMatchObject({
      error: { code: 'INPUT_INVALID', message: expect.stringContaining('convertible to JSON Schema') as string },
    });
  });
});
