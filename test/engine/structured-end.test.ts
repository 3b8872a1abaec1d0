import { setImmediate as eventLoop } from 'node:timers/promises';
import { defineWorkflow, NonRetryableError, type WorkflowContext } from 'outwait';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../lib/base/log.js';
import { aFlow, eventTypes, started, startedIn } from './support.js';

/** Bookings that were made and not undone. */
class Bookings {
  readonly open: string[] = [];
  readonly log: string[] = [];

  /** Books, and waits for a day; any end of that wait by others undoes the booking. */
  async trip(ctx: WorkflowContext, name: string, undo: () => void = () => undefined): Promise<string> {
    return ctx.saga(async (saga) => {
      await ctx.step(`book ${name}`, () => void this.open.push(name));
      saga.compensate(`unbook ${name}`, () => {
        undo();
        this.open.splice(this.open.indexOf(name), 1);
        this.log.push(`unbooked ${name}`);
      });
      await ctx.sleep({ days: 1 });
      return name;
    });
  }
}

const won = async (ctx: WorkflowContext): Promise<string> => ctx.sleep({ hours: 1 }).then(() => 'timer');

describe('a race', () => {
  it('F04 as the last line of a run has the saga of its loser undone before the run ends', async () => {
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) => ctx.race([async (c) => bookings.trip(c, 'flight'), won]));
    const run = await started(flow);
    expect(await run.app.runToEnd(run.runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(bookings.open).toEqual([]);
    const types = await eventTypes(run);
    expect(types.slice(types.indexOf('TimerFired'))).toEqual([
      ...['TimerFired', 'StepRequested', 'WaitsClosed', 'StepCompleted'],
      ...['RunEnding', 'RunEnded'],
    ]);
  });

  it('F04 settles after what it closed has done what it owes, and not before', async () => {
    const order: string[] = [];
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) => {
      const result = await ctx.race([
        async (c) => bookings.trip(c, 'flight').finally(() => order.push('undone')),
        async (c) => {
          try {
            return await c.sleep({ days: 1 }).then(() => 'slept');
          } finally {
            await c.shield(async (inner) => {
              await inner.sleep({ hours: 2 });
              order.push('tidied');
            });
          }
        },
        won,
      ]);
      order.push('race settled');
      return [result, ctx.now()];
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: ['timer', 1_767_225_600_000 + 3 * 3_600_000],
    });
    expect(order.slice(0, 3)).toEqual(['undone', 'tidied', 'race settled']);
    expect(bookings.open).toEqual([]);
  });

  it('F04 fails with the error of its winner after that', async () => {
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) =>
      ctx.race([
        async (c) => bookings.trip(c, 'flight'),
        async (c) => {
          await c.sleep({ hours: 1 });
          throw new Error('first to fail');
        },
      ]),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { message: 'first to fail' } });
    expect(bookings.open).toEqual([]);
  });

  it('F04 within a race has its loser undone before the outer one settles, shields in shields too', async () => {
    const order: string[] = [];
    const bookings = new Bookings();
    const tidy = async (c: WorkflowContext, name: string, body: () => Promise<unknown>): Promise<string> => {
      try {
        await body();
        return name;
      } finally {
        await c.shield(async (inner) => {
          await inner.step(`tidy ${name}`, () => order.push(name));
          await inner.shield(async (innermost) => {
            await innermost.sleep({ minutes: 1 });
            await innermost.step(`sweep ${name}`, () => order.push(`${name} twice`));
          });
        });
      }
    };
    const flow = aFlow(async (ctx) => {
      const result = await ctx.race([
        async (c) =>
          tidy(c, 'outer', async () =>
            c.race([
              async (d) => bookings.trip(d, 'flight'),
              async (d) => tidy(d, 'inner', async () => d.sleep({ days: 2 })),
            ]),
          ),
        won,
      ]);
      order.push(result);
      return result;
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'timer' });
    // Repeated once when the test kit replays it.
    expect(order).toEqual(['inner', 'inner twice', 'outer', 'outer twice', 'timer', 'timer']);
    expect(bookings.open).toEqual([]);
  });

  it('F04 has a compensation repeated over many turns, and goes on after one that fails', async () => {
    const warned: unknown[] = [];
    const log = { ...silentLog, warn: (event: string, fields?: object) => void warned.push([event, fields]) };
    const bookings = new Bookings();
    let attempts = 0;
    const busy = (): void => {
      if (++attempts < 4) throw new Error('busy');
    };
    const broken = (): void => {
      throw new NonRetryableError('no refund');
    };
    const flow = aFlow(async (ctx) =>
      ctx.race([async (c) => bookings.trip(c, 'flight', busy), async (c) => bookings.trip(c, 'hotel', broken), won]),
    );
    const { app, runId } = await started(flow, {}, { log });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(attempts).toBe(4);
    expect(bookings.open).toEqual(['hotel']);
    expect(warned).toContainEqual(['compensation failed', expect.objectContaining({ name: 'unbook hotel' })]);
  });

  it('F04 that the cancel of the run ends says what could not be undone', async () => {
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) =>
      ctx.race([
        async (c) => c.sleep({ days: 3 }).then(() => 'slept'),
        async (c) =>
          bookings.trip(c, 'hotel', () => {
            throw new NonRetryableError('no refund');
          }),
      ]),
    );
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId);
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'COMPENSATION_FAILED', details: { failed: ['unbook hotel'] } },
    });
  });

  it('F04 that nothing is owed to costs no commit more', async () => {
    const flow = aFlow(async (ctx) => {
      await ctx.race([async (c) => c.sleep({ days: 1 }), won]);
      await ctx.step('after', () => 1);
    });
    const run = await started(flow);
    await run.app.runToEnd(run.runId);
    const { events } = await run.app.history(run.runId);
    // The requests of the race; its end with the step; the end of the run.
    expect(events.at(-1)?.seq).toBe(3);
  });

  it('F04 leaves the body of a saga that swallows its cancel as it is: it has not failed', async () => {
    const undone: string[] = [];
    const flow = aFlow(async (ctx) =>
      ctx.race([
        async (c) =>
          c.saga(async (saga) => {
            saga.compensate('undo', () => undone.push('undone'));
            await c.sleep({ days: 1 }).catch(() => undefined);
          }),
        won,
      ]),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(undone).toEqual([]);
  });
});

describe('a scope that was cancelled', () => {
  it('F04 has its saga undone before it settles, under a plain Promise.race', async () => {
    const order: string[] = [];
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) => {
      const result = await ctx.scope(async (c, scope) => {
        const first = await Promise.race([bookings.trip(c, 'flight'), won(ctx)]);
        scope.cancel();
        return first;
      });
      order.push(`${bookings.open.length} booked`);
      return result;
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'timer' });
    expect(order[0]).toEqual('0 booked');
  });
});

describe('the end of a run', () => {
  it('F04 closes what runs beside it, so that a saga whose sibling failed is undone', async () => {
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) =>
      Promise.all([
        bookings.trip(ctx, 'flight'),
        ctx.step('fails', () => {
          throw new NonRetryableError('no seat');
        }),
      ]),
    );
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'STEP_FAILED' } });
    expect(bookings.log).toEqual(['unbooked flight']);
  });

  it('F04 waits for the saga of a loser and for that of a sibling when the run is cancelled', async () => {
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) =>
      Promise.all([
        ctx.sleep({ days: 1 }),
        bookings.trip(ctx, 'flight'),
        ctx.race([async (c) => c.sleep({ days: 1 }).then(() => ''), async (c) => bookings.trip(c, 'hotel')]),
      ]),
    );
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId, 'enough');
    expect(await app.runToEnd(runId)).toEqual({ status: 'cancelled', reason: 'enough' });
    expect(bookings.log.sort()).toEqual(['unbooked flight', 'unbooked hotel']);
  });

  it('F04 says of a cancelled run what a sibling could not undo', async () => {
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) =>
      Promise.all([
        ctx.sleep({ days: 1 }),
        bookings.trip(ctx, 'flight', () => {
          throw new NonRetryableError('no refund');
        }),
      ]),
    );
    const { app, runId } = await started(flow);
    await app.settleDown();
    await app.cancel(runId, 'enough');
    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'COMPENSATION_FAILED', details: { failed: ['unbook flight'] } },
    });
  });

  it('F04 waits for a shield and a saga that are not awaited', async () => {
    const order: string[] = [];
    const bookings = new Bookings();
    const flow = aFlow(async (ctx) => {
      void ctx.shield(async (inner) => {
        await inner.sleep({ hours: 2 });
        order.push('shielded');
      });
      void bookings.trip(ctx, 'flight');
      await ctx.sleep({ minutes: 1 });
      return 'done';
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'done' });
    expect(order[0]).toEqual('shielded');
    expect(bookings.log).toEqual(['unbooked flight']);
  });

  it('F04 rejects what is not awaited without a sign of a bug, also of async functions of the author', async () => {
    const rejections: unknown[] = [];
    const listen = (reason: unknown): number => rejections.push(reason);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', listen);
    const ends: string[] = [];
    const helper = async (ctx: WorkflowContext): Promise<void> => {
      try {
        await ctx.sleep({ days: 1 });
      } catch (error) {
        ends.push((error as Error).message);
        throw error;
      }
    };
    const flow = aFlow(async (ctx) => {
      void helper(ctx);
      await ctx.sleep({ hours: 1 });
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed' });
    await eventLoop();
    process.off('unhandledRejection', listen);
    for (const other of others) process.on('unhandledRejection', other);
    expect(ends[0]).toBe('this wait was closed: the run ends');
    expect(rejections).toEqual([]);
  });

  it('F04 keeps the value that the run function gave, whatever becomes of it meanwhile', async () => {
    const flow = aFlow(async (ctx) => {
      const result = { tidied: false };
      void ctx.shield(async (inner) => {
        await inner.sleep({ hours: 2 });
        result.tidied = true;
      });
      return result;
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { tidied: false } });
  });

  it('F04 in going on as a new run has the saga beside it undone first, and passes a cancel of that time on', async () => {
    const bookings = new Bookings();
    const flow = defineWorkflow<unknown>({
      name: 'flow',
      run: async (ctx, input) => {
        if (input === 'next') return 'done';
        void bookings.trip(ctx, 'flight');
        void ctx.shield(async (inner) => inner.sleep({ hours: 1 }));
        await ctx.sleep({ minutes: 1 });
        return ctx.continueAsNew('next');
      },
    });
    const run = await startedIn([flow]);
    expect((await run.app.runToEnd(run.runId, { follow: false })).status).toBe('continued');
    expect(bookings.log).toEqual(['unbooked flight']);
  });

  it('F04 ends the loop of a loser that catches its cancel and asks again', { timeout: 20_000 }, async () => {
    const stubborn = async (c: WorkflowContext): Promise<never> => {
      for (;;) await c.sleep({ minutes: 10 }).catch(() => undefined);
    };
    const flow = aFlow(async (ctx) => {
      void stubborn(ctx);
      return ctx.race([stubborn, won]);
    });
    const { app, runId } = await started(flow);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'timer' });
  });

  it.each<[string, (ctx: WorkflowContext) => Promise<unknown>]>([
    ['of a race', async (ctx) => ctx.race([async (c) => c.shield(async () => new Promise(() => undefined)), won])],
    [
      'of the end',
      async (ctx) => {
        void ctx.shield(async () => new Promise(() => undefined));
        return won(ctx);
      },
    ],
    [
      'of a saga that goes on and on',
      async (ctx) =>
        ctx.race([
          async (c) =>
            c.saga(async () => {
              for (;;) await c.sleep({ minutes: 10 }).catch(() => undefined);
            }),
          won,
        ]),
    ],
  ])('F04 is blocked by a shielded part %s that awaits a promise of its own', { timeout: 20_000 }, async (_, run) => {
    const { app, runId } = await started(aFlow(run));
    await app.pass({ hours: 2 });
    expect((await app.show(runId)).blocked).toMatchObject({
      code: 'WORKFLOW_STUCK',
      message: expect.stringContaining('shield or saga') as unknown,
    });
  });
});
