import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { validate } from '../../lib/base/validate.js';
import { listRuns } from '../../lib/operations/views/list-runs.js';
import { replayHistory } from '../../lib/operations/views/replay-history.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { aFlow, started, WatchedServer } from './support.js';

const schemaOf = (check: (value: unknown) => unknown): StandardSchemaV1<unknown, unknown> => ({
  '~standard': { version: 1, vendor: 'test', validate: check as never },
});

/** Throws when any of its properties is read. */
const unreadable: unknown = new Proxy(new Error('x'), {
  get: () => {
    throw new Error('looked at');
  },
  getPrototypeOf: () => {
    throw new Error('looked at');
  },
});
const throwing = (thrown: unknown) => () => {
  throw thrown;
};
const withGetter = (name: string): object => Object.defineProperty({}, name, { get: throwing(new Error('no')) });

const broken: readonly [what: string, schema: StandardSchemaV1<unknown, unknown>][] = [
  ['throws', schemaOf(throwing(new Error('bad')))],
  ['throws what is no error', schemaOf(throwing(7))],
  ['throws what cannot be looked at', schemaOf(throwing(unreadable))],
  ['rejects', schemaOf(async () => Promise.reject(new TypeError('bad')))],
  ['answers nothing', schemaOf(() => undefined)],
  ['has issues that are no list', schemaOf(() => ({ issues: 'many' }))],
  ['has issues that are null', schemaOf(() => ({ issues: null }))],
  ['has issues that throw', schemaOf(() => withGetter('issues'))],
  ['has a value that throws', schemaOf(() => withGetter('value'))],
  ['has an issue that is none', schemaOf(() => ({ issues: [null, 3, withGetter('message'), withGetter('path')] }))],
  ['has an issue without a text', schemaOf(() => ({ issues: [{ message: 7, path: 'no list' }] }))],
  ['has a value whose toJSON throws', schemaOf(() => ({ value: { toJSON: throwing(unreadable) } }))],
  ['has a value that JSON cannot hold', schemaOf(() => ({ value: 1n }))],
  ['has a transform that throws', z.string().transform((text) => JSON.parse(text) as never)],
  ['has a promise that throws', schemaOf(() => withGetter('then'))],
];

const inputOf = 'no JSON';

describe('F21 an input schema that', () => {
  it.each(broken)('%s refuses the start', async (_, input) => {
    const workflow = defineWorkflow({ name: 'odd', input, run: async () => 1 });
    const app = createTestApp(defineApp({ workflows: [workflow] }));
    await expect(startRun(app.deps, { workflow: 'odd', input: inputOf })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    expect((await listRuns(app.deps, { limit: 1 })).runs).toEqual([]);
  });

  it.each(broken)('%s is a child that failed, and its parent catches that', async (_, input) => {
    const child = defineWorkflow({ name: 'odd', input, run: async () => 1 });
    const parent = defineWorkflow({
      name: 'parent',
      run: async (ctx: WorkflowContext) => {
        try {
          return await ctx.child(child, inputOf);
        } catch (error) {
          const { code, details } = error as { code: string; details: { error: { code: string } } };
          return [code, details.error.code];
        }
      },
    });
    const app = createTestApp(defineApp({ workflows: [parent, child] }));
    const runId = await app.start(parent);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['CHILD_FAILED', 'INPUT_INVALID'] });
  });

  it('never answers refuses the start after 10 s', async () => {
    const input = schemaOf(() => new Promise(() => undefined));
    const workflow = defineWorkflow({ name: 'odd', input, run: async () => 1 });
    const app = createTestApp(defineApp({ workflows: [workflow] }));
    const starting = startRun(app.deps, { workflow: 'odd' });
    app.clock.moveTo(app.clock.nextDelayAtMs() ?? 0);
    await expect(starting).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/within 10 s$/) as unknown,
    });
  });

  it('answers later is waited for', async () => {
    const input = z.string().refine(async (text) => Promise.resolve(text === 'yes'));
    const workflow = defineWorkflow({ name: 'slow', input, run: async (_, text) => text });
    const app = createTestApp(defineApp({ workflows: [workflow] }));
    const { runId } = await startRun(app.deps, { workflow: 'slow', input: 'yes' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'yes' });
    await expect(startRun(app.deps, { workflow: 'slow', input: 'no' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('says what it threw', async () => {
    expect(await validate(schemaOf(throwing(new SyntaxError('Unexpected token'))), 1)).toEqual({
      isValid: false,
      issues: [{ path: '', message: 'the schema threw: Unexpected token' }],
    });
  });
});

describe('F21 the error of a step that', () => {
  it.each(['retryAfterMs', 'nonRetryable'])('has a getter %s that throws is tried again', async (field) => {
    let calls = 0;
    const flow = aFlow(async (ctx) =>
      ctx.step('s', () => {
        calls += 1;
        if (calls < 3) throw Object.defineProperty(new Error('busy'), field, { get: throwing(new Error('no')) });
        return calls;
      }),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 3 });
  });

  it('gives a result whose toJSON throws what cannot be read fails', async () => {
    const flow = aFlow(async (ctx) => ctx.step('s', () => ({ toJSON: throwing(unreadable) })));
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'STEP_FAILED' } });
  });
});

describe('F21 the schema of a remote result that', () => {
  const callWith = async (resultSchema: StandardSchemaV1<unknown, unknown>): Promise<unknown> => {
    const reports = new WatchedServer({ task: { result: 'r' } });
    const flow = aFlow(async (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', resultSchema }));
    const { app, runId } = await started(flow, { reports });
    return app.runToEnd(runId);
  };

  it.each(broken.filter(([what]) => !/value|transform/.test(what)))(
    '%s makes the result invalid',
    async (_, schema) => {
      expect(await callWith(schema)).toMatchObject({ status: 'failed', error: { code: 'REMOTE_RESULT_INVALID' } });
    },
  );
});

const numbers = z.object({ n: z.coerce.number() }).transform(({ n }) => ({ n, seen: true }));

describe('F22 a run that goes on', () => {
  const counting = (last: number) =>
    defineWorkflow({
      name: 'counting',
      input: numbers,
      run: async (ctx, { n, ...rest }) => (n < last ? ctx.continueAsNew({ n: String(n + 1) }) : { n, ...rest }),
    });

  it('is given what the schema makes of its next input, as at a start', async () => {
    const app = createTestApp(defineApp({ workflows: [counting(3)] }));
    const runId = await app.start(counting(3), { n: '1' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { n: 3, seen: true } });
  });

  it('with an input that does not fit ends as failed, with what does not fit, and is not blocked', async () => {
    const flow = defineWorkflow({
      name: 'counting',
      input: numbers,
      run: async (ctx) => ctx.continueAsNew({ n: 'many' }),
    });
    const app = createTestApp(defineApp({ workflows: [flow] }));
    const runId = await app.start(flow, { n: 1 });
    await app.pass({ minutes: 2 });
    const { nextRunId = '' } = await app.show(runId);
    const next = await app.show(nextRunId);
    expect(next).toMatchObject({
      status: 'failed',
      input: { n: 'many' },
      outcome: { error: { code: 'INPUT_INVALID', details: { issues: [{ path: 'n' }] } } },
    });
    expect(next).not.toHaveProperty('blocked');
    // The history contains none of its code, and an export of it reports no difference from that code.
    expect(await replayHistory(app.deps, app.deps.app, await app.history(nextRunId))).toMatchObject({ kind: 'clean' });
  });

  it('fails its parent with that input', async () => {
    const child = defineWorkflow({
      name: 'counting',
      input: numbers,
      run: async (ctx) => ctx.continueAsNew({ n: 'many' }),
    });
    const parent = defineWorkflow({
      name: 'parent',
      run: async (ctx: WorkflowContext) =>
        ctx.child(child, { n: 1 }).catch((error: unknown) => (error as { code: string }).code),
    });
    const app = createTestApp(defineApp({ workflows: [parent, child] }));
    expect(await app.runToEnd(await app.start(parent))).toEqual({ status: 'completed', result: 'CHILD_FAILED' });
  });

  it('ends as failed where a deployment in between takes its input no more', async () => {
    const before = defineWorkflow<{ n: number }>({
      name: 'counting',
      run: async (ctx, { n }) => {
        await ctx.signal('go');
        return ctx.continueAsNew({ n: n + 1 });
      },
    });
    const app = createTestApp(defineApp({ workflows: [before] }));
    const runId = await app.start(before, { n: 1 });
    await app.settleDown();
    app.deploy(defineApp({ workflows: [defineWorkflow({ ...before, input: z.object({ n: z.number().max(1) }) })] }));
    await app.signal(runId, 'go');
    await app.pass({ minutes: 2 });
    const { nextRunId = '' } = await app.show(runId);
    expect(await app.show(nextRunId)).toMatchObject({
      outcome: { status: 'failed', error: { code: 'INPUT_INVALID' } },
    });
  });
});

it('F22 a schedule starts its runs with what the schema makes of their input', async () => {
  const flow = defineWorkflow({ name: 'nightly', input: numbers, run: async (_, input) => input });
  const schedules = [{ name: 'nightly', workflow: flow, input: { n: '7' }, every: { hours: 1 } }];
  const app = createTestApp(defineApp({ workflows: [flow], schedules }), { schedules: true });
  await app.pass({ hours: 1, minutes: 1 });
  const [run] = (await listRuns(app.deps, { limit: 1 })).runs;
  expect((await app.show(run?.runId ?? '')).outcome).toEqual({ status: 'completed', result: { n: 7, seen: true } });
});
