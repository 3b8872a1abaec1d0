import {
  type App,
  defineApp,
  defineWorkflow,
  type EngineErrorCode,
  githubWebhook,
  type JsonValue,
  type RemoteAnswer,
  type RemoteOutcome,
  type RemoteProtocol,
  type ServerConfig,
  type Workflow,
  type WorkflowContext,
} from 'outwait';
import type { TestApp } from 'outwait/testing';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';

// The compiler checks these; at run time they only prove that the code is valid.

test('input and output of a workflow follow from its schema and its function', () => {
  const report = defineWorkflow({
    name: 'report',
    input: z.object({ month: z.string(), dry: z.boolean().default(false) }),
    run: async (ctx, input) => {
      expectTypeOf(input).toEqualTypeOf<{ month: string; dry: boolean }>();
      return ctx.step('count', () => input.month.length);
    },
  });
  expectTypeOf(report).toEqualTypeOf<
    Workflow<{ month: string; dry: boolean }, number, { month: string; dry?: boolean | undefined }>
  >();
});

test('without a schema the input is JSON', () => {
  const plain = defineWorkflow({
    name: 'plain',
    run: async (ctx, input) => {
      expectTypeOf(input).toEqualTypeOf<JsonValue>();
      return ctx.uuid();
    },
  });
  expectTypeOf(plain).toEqualTypeOf<Workflow<JsonValue, string>>();
});

test('what a workflow awaits has the type that its source gives it', () => {
  const child = defineWorkflow({
    name: 'child',
    input: z.object({ n: z.number() }),
    run: async (_, { n }) => Promise.resolve([n]),
  });
  const typed = async (ctx: WorkflowContext): Promise<void> => {
    expectTypeOf(await ctx.step('a', () => 1)).toEqualTypeOf<number>();
    expectTypeOf(await ctx.step('b', async () => Promise.resolve('x'))).toEqualTypeOf<string>();
    expectTypeOf(await ctx.callRemoteTask({ server: 's', tool: 't' })).toEqualTypeOf<RemoteOutcome>();
    expectTypeOf(await ctx.child(child, { n: 1 })).toEqualTypeOf<number[]>();
    // JSON decides what is recorded.
    expectTypeOf(await ctx.step('c', () => ({ at: new Date(), of: 1 }))).toEqualTypeOf<{ at: string; of: number }>();
    const dated = defineWorkflow({ name: 'dated', run: async () => Promise.resolve([new Date()]) });
    expectTypeOf(await ctx.child(dated, null)).toEqualTypeOf<string[]>();
    const ok = z.object({ ok: z.boolean() });
    expectTypeOf(await ctx.signal('s', { schema: ok, where: (sent) => sent.ok })).toEqualTypeOf<{ ok: boolean }>();
    expectTypeOf(await ctx.signal('s')).toEqualTypeOf<JsonValue>();
    expectTypeOf(await ctx.map([1, 2], async (n) => Promise.resolve(String(n)))).toEqualTypeOf<string[]>();
    expectTypeOf(
      await ctx.race([async () => Promise.resolve(1), async (c) => c.sleep({ seconds: 1 }).then(() => 2)]),
    ).toEqualTypeOf<number>();
    expectTypeOf(
      await ctx.race([async () => Promise.resolve(1), async (c) => c.sleep({ seconds: 1 }).then(() => 'late')]),
    ).toEqualTypeOf<number | string>();
    const [first] = await ctx.some(1, [
      async () => Promise.resolve(1),
      async (c) => c.sleep({ seconds: 1 }).then(() => 'late'),
    ]);
    expectTypeOf(first).toEqualTypeOf<
      { readonly index: 0; readonly value: number } | { readonly index: 1; readonly value: string } | undefined
    >();
    if (first?.index === 1) expectTypeOf(first.value).toEqualTypeOf<string>();
    expectTypeOf(
      await ctx.some(
        1,
        [1, 2].map((n) => async () => Promise.resolve(n)),
      ),
    ).toEqualTypeOf<{ readonly index: number; readonly value: number }[]>();
    expectTypeOf((await ctx.promise({ schema: ok })).promise).toEqualTypeOf<Promise<{ ok: boolean }>>();
    expectTypeOf((await ctx.promise()).promise).toEqualTypeOf<Promise<JsonValue>>();
    const settled = await (await ctx.externalToken({ schema: ok })).outcome;
    if (!settled.isError) expectTypeOf(settled.result).toEqualTypeOf<{ ok: boolean }>();
    const called = await ctx.callRemoteTask({ server: 's', tool: 't', output: ok });
    if (!called.isError) expectTypeOf(called.data).toEqualTypeOf<{ ok: boolean }>();
    const { data } = await ctx.callRemoteTask({ server: 's', skill: 'k', output: ok });
    expectTypeOf(data).toEqualTypeOf<{ ok: boolean }>();
    const answer = await ctx.ask({ message: 'May it go?', schema: ok });
    if (answer.action === 'accept') expectTypeOf(answer.content).toEqualTypeOf<{ ok: boolean }>();
    expectTypeOf(await ctx.ask({ message: 'May it go?', schema: { type: 'object' } })).toEqualTypeOf<RemoteAnswer>();
    expectTypeOf(ctx.continueAsNew({ n: 1 })).toEqualTypeOf<Promise<never>>();
    expectTypeOf(await ctx.shield(async (c) => c.step('c', () => true))).toEqualTypeOf<boolean>();
  };
  expectTypeOf(typed).returns.toEqualTypeOf<Promise<void>>();
});

test('what makes no sense does not compile', () => {
  const child = defineWorkflow({
    name: 'child',
    input: z.object({ n: z.number() }),
    run: async () => Promise.resolve(1),
  });
  const wrong = async (ctx: WorkflowContext): Promise<void> => {
    // @ts-expect-error a bare number is no duration
    await ctx.sleep(5);
    // @ts-expect-error the unit does not exist
    await ctx.sleep({ weeks: 1 });
    // @ts-expect-error the input of the child is another
    await ctx.child(child, { n: 'one' });
    // @ts-expect-error a call names one of tool, skill and message
    await ctx.callRemoteTask({ server: 's', tool: 't', skill: 'k' });
    // @ts-expect-error a call names a tool, a skill or a message
    await ctx.callRemoteTask({ server: 's' });
    // @ts-expect-error a step needs a name
    await ctx.step(() => 1);
  };
  expectTypeOf(wrong).toBeFunction();
});

test('the next input and progress take what JSON keeps, interfaces too, and nothing that it would lose', () => {
  interface Next {
    readonly round: number;
    readonly of?: readonly { readonly at: Date }[];
  }
  const given = async (ctx: WorkflowContext, next: Next, json: JsonValue): Promise<void> => {
    ctx.progress(next);
    ctx.progress(json);
    ctx.progress('half');
    // @ts-expect-error a map is lost
    ctx.progress({ seen: new Map([['a', 1]]) });
    // @ts-expect-error a function is lost
    ctx.progress({ next: () => next });
    // @ts-expect-error a bigint is lost
    await ctx.continueAsNew({ n: 1n });
    // @ts-expect-error a set is lost
    await ctx.continueAsNew([new Set([1])]);
    await ctx.continueAsNew(json);
    await ctx.continueAsNew();
    await ctx.continueAsNew(next);
  };
  expectTypeOf(given).toBeFunction();
});

test('steps and workflows refuse what JSON would lose, and take everything that it keeps', () => {
  interface Row {
    readonly id: string;
    readonly at?: Date;
    readonly rows: readonly Row[];
  }
  class Counter {
    count = 0;
    next(): number {
      return ++this.count;
    }
  }
  const given = async (ctx: WorkflowContext, rows: readonly Row[], json: JsonValue): Promise<void> => {
    expectTypeOf(await ctx.step('json', () => json)).toExtend<JsonValue>();
    expectTypeOf(await ctx.step('unknown', (): unknown => json)).toEqualTypeOf<JsonValue | undefined>();
    expectTypeOf(await ctx.step('text', async ({ idempotencyKey }) => idempotencyKey)).toEqualTypeOf<string>();
    expectTypeOf((await ctx.step('rows', () => rows))[0]?.at).toEqualTypeOf<string | undefined>();
    await ctx.step('nothing', async () => undefined);
    await ctx.step('void', async () => {
      await fetch('https://example.com');
    });
    // @ts-expect-error a map is lost
    await ctx.step('map', async () => new Map([['a', 1]]));
    // @ts-expect-error a bigint cannot be stored
    await ctx.step('bigint', () => 1n);
    // @ts-expect-error a method is lost
    await ctx.step('object', () => new Counter());
    // @ts-expect-error a response is nothing but methods
    await ctx.step('response', () => fetch('https://example.com'));
  };
  expectTypeOf(given).toBeFunction();

  const run = async () => undefined;
  expectTypeOf(defineWorkflow<Row>({ name: 'rows', run })).toExtend<Workflow<Row>>();
  // @ts-expect-error a set in the input is lost
  defineWorkflow<{ readonly ids: Set<string> }>({ name: 'ids', run });
  // @ts-expect-error a map as the result is lost
  defineWorkflow({ name: 'counts', run: async () => new Map([['a', 1]]) });
});

test('error codes are literals', () => {
  expectTypeOf<'REMOTE_START_AMBIGUOUS'>().toExtend<EngineErrorCode>();
  expectTypeOf<'SOMETHING_ELSE'>().not.toExtend<EngineErrorCode>();
});

test('a server of the configuration speaks each of the protocols that are named', () => {
  expectTypeOf<ServerConfig['protocol']>().toEqualTypeOf<RemoteProtocol>();
});

test('the input of a schedule is what its workflow takes', () => {
  const report = defineWorkflow({ name: 'report', input: z.object({ month: z.string() }), run: async () => 1 });
  const sweep = defineWorkflow({ name: 'sweep', run: async () => 1 });
  const every = { hours: 1 };
  const right = (): App =>
    defineApp({
      workflows: [report, sweep],
      schedules: [
        { name: 'a', workflow: report, input: { month: '2026-01' }, every },
        { name: 'b', workflow: sweep, every },
      ],
    });
  const wrong = (): App =>
    defineApp({
      workflows: [report],
      // @ts-expect-error the month is missing
      schedules: [{ name: 'a', workflow: report, input: { year: 2026 }, every }],
    });
  expectTypeOf([right, wrong]).toBeArray();
});

test('what a hook starts is what its workflow takes, and what it is given is JSON', () => {
  const review = defineWorkflow({ name: 'review', input: z.object({ number: z.number() }), run: async () => 1 });
  const sweep = defineWorkflow({ name: 'sweep', run: async () => 1 });
  const auth = githubWebhook({ secret: 'x' });
  const right = (): App =>
    defineApp({
      workflows: [review, sweep],
      schedules: [{ name: 'a', workflow: sweep, every: { hours: 1 } }],
      hooks: {
        reviews: {
          auth,
          workflow: review,
          start: (event) => {
            expectTypeOf(event.body).toEqualTypeOf<JsonValue>();
            return event.deliveryId === '' ? undefined : { input: { number: 7 }, tags: { from: 'github' } };
          },
        },
        later: { auth, workflow: review, start: async () => ({ input: { number: 7 }, key: 'a' }) },
        sweeps: { auth, workflow: sweep, start: () => ({}) },
        merged: { auth, workflow: review, signal: () => ({ id: 'pr-7', name: 'merged' }) },
      },
    });
  const wrong = (): App[] => [
    defineApp({
      workflows: [review],
      // @ts-expect-error the number is no text
      hooks: { a: { auth, workflow: review, start: () => ({ input: { number: '7' } }) } },
    }),
    defineApp({
      workflows: [review],
      // @ts-expect-error the signal names its run twice
      hooks: { a: { auth, workflow: review, signal: () => ({ id: 'a', key: 'b', name: 'merged' }) } },
    }),
    // @ts-expect-error a hook does one of the two
    defineApp({ workflows: [review], hooks: { a: { auth, workflow: review } } }),
  ];
  expectTypeOf([right, wrong]).toBeArray();
});

test('a test starts a run with what its workflow takes, and reads what it gives', () => {
  const report = defineWorkflow({
    name: 'report',
    input: z.object({ month: z.string() }),
    run: async (ctx) => ({ at: await ctx.step('look', () => new Date()) }),
  });
  const typed = async (app: TestApp): Promise<void> => {
    const runId = await app.start(report, { month: '2026-01' });
    const ended = await app.runToEnd(runId);
    if (ended.status === 'completed') expectTypeOf(ended.result).toEqualTypeOf<{ at: string }>();
    // @ts-expect-error the month is a text
    await app.start(report, { month: 1 });
  };
  expectTypeOf(typed).toBeFunction();
});
