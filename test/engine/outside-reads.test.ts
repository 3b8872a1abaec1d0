import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';

type Run = (ctx: WorkflowContext) => Promise<unknown>;

async function ended(run: Run, options: { readonly allowReads?: boolean; readonly replay?: boolean } = {}) {
  const flow = defineWorkflow({ name: 'flow', run });
  const app = createTestApp(defineApp({ workflows: [flow] }));
  return app.runToEnd(await app.start(flow), options);
}

const reads: readonly [string, () => unknown, string][] = [
  ['Date.now()', () => Date.now(), 'ctx.now()'],
  ['new Date()', () => new Date(), 'ctx.now()'],
  ['Date()', () => Date(), 'ctx.now()'],
  ['Math.random()', () => Math.random(), 'ctx.random() or ctx.uuid()'],
  ['performance.now()', () => performance.now(), 'ctx.now()'],
  ['process.hrtime()', () => process.hrtime(), 'ctx.now()'],
  ['process.hrtime.bigint()', () => process.hrtime.bigint(), 'ctx.now()'],
  ['process.uptime()', () => process.uptime(), 'ctx.now()'],
  ['crypto.randomUUID()', () => crypto.randomUUID(), 'ctx.random() or ctx.uuid()'],
  ['crypto.getRandomValues()', () => crypto.getRandomValues(new Uint8Array(1)), 'ctx.random() or ctx.uuid()'],
  ['process.env.HOME', () => process.env['HOME'], 'the input'],
];

describe('a test of a workflow (F26)', () => {
  it.each(reads)('fails for %s before a wait, and says where', async (what, read, instead) => {
    const failed = ended(async (ctx) => {
      read();
      await ctx.sleep({ days: 1 });
    });
    await expect(failed).rejects.toThrow(`${what} at ${import.meta.filename}:`);
    await expect(failed).rejects.toThrow(`: use ${instead}`);
  });

  it.each(reads)('fails for %s after a wait', async (what, read) => {
    const failed = ended(async (ctx) => {
      await ctx.sleep({ days: 1 });
      read();
    });
    await expect(failed).rejects.toThrow(what);
  });

  it('fails for a timer of the host', async () => {
    const failed = ended(async (ctx) => {
      clearTimeout(setTimeout(() => undefined, 1));
      await ctx.sleep({ days: 1 });
    });
    await expect(failed).rejects.toThrow('setTimeout()');
  });

  it('allows them in a step, also while the workflow goes on beside it', async () => {
    const outcome = await ended(async (ctx) => {
      const [at] = await Promise.all([
        ctx.step('read', async () => {
          const first = Date.now();
          for (let turn = 0; turn < 100; turn++) await Promise.resolve();
          return [first, Math.random(), Date.now(), process.env['HOME']].length;
        }),
        ctx.sleep({ seconds: 1 }),
      ]);
      return at;
    });
    expect(outcome).toEqual({ status: 'completed', result: 4 });
  });

  it('allows dates of given instants, and what it is told to allow', async () => {
    expect(await ended(async (ctx) => new Date(ctx.now()).toISOString().length)).toEqual({
      status: 'completed',
      result: 24,
    });
    const outcome = await ended(async () => typeof Date.now(), { allowReads: true });
    expect(outcome).toEqual({ status: 'completed', result: 'number' });
  });

  it('leaves the globals as they were', async () => {
    const globals = () => [
      Date,
      setTimeout,
      process.env,
      fetch,
      ...Object.values(Object.getOwnPropertyDescriptors(Math)),
    ];
    const before = globals();
    await ended(async (ctx) => ctx.sleep({ days: 1 }));
    expect(globals()).toEqual(before);
    expect(Object.getOwnPropertyNames(performance)).not.toContain('now');
  });
});

describe('the replay of a test (F26)', () => {
  let others = 0;
  it.each<[string, Run, string]>([
    ['another result', async () => ++others, 'its result is another'],
    [
      'a part of a result that is another',
      async () => ({ rows: [{ at: ++others }] }),
      'its result.rows[0].at is another',
    ],
    [
      'an error where there was none',
      async () => {
        if (++others % 2 === 0) throw new Error('sometimes');
      },
      'the history ended completed, the workflow now failed',
    ],
    [
      'another error',
      async () => {
        throw new Error(`at ${++others}`);
      },
      'its error.message is another',
    ],
    [
      'a further step at the end',
      async (ctx) => {
        if (++others % 2 === 1) return;
        await ctx.step('more', () => 1);
      },
      'the workflow now keeps waiting',
    ],
    [
      'a wait without an end',
      async (ctx) => {
        if (++others % 2 === 1) return;
        await ctx.signal('never');
      },
      'the workflow now keeps waiting',
    ],
    [
      'another name of a step',
      async (ctx) => {
        await ctx.step(`step-${++others}`, () => 1);
      },
      'the workflow now asks for',
    ],
  ])('fails for %s, and shows both sides', async (_, run, text) => {
    others = 0;
    await expect(ended(run)).rejects.toThrow(text);
    others = 0;
    await expect(ended(run, { replay: false })).resolves.toBeDefined();
  });
});
