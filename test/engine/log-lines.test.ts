import { describe, expect, it } from 'vitest';
import type { Log } from '../../lib/base/log.js';
import { defineApp } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { createTestApp } from '../../lib/testing.js';

function recording() {
  const lines: Record<string, unknown>[] = [];
  const write = (event: string, fields: Record<string, unknown> = {}): void => void lines.push({ event, ...fields });
  const log: Log = { debug: write, info: write, warn: write, error: write };
  return { log, of: (event: string) => lines.filter((line) => line['event'] === event) };
}

const traceId = expect.stringMatching(/^[0-9a-f]{32}$/) as unknown;

describe('each line that an author logs', () => {
  it('in a workflow names the run, the workflow and the trace', async () => {
    const { log, of } = recording();
    const talks = defineWorkflow({
      name: 'talks',
      run: async (ctx) => {
        ctx.log.warn('heard', { note: 1, traceId: 'mine' });
        await ctx.sleep({ hours: 1 });
      },
    });
    const app = createTestApp(defineApp({ workflows: [talks] }), { log });
    const runId = await app.start(talks, null);
    await app.runToEnd(runId);
    expect(of('heard')).toEqual([{ event: 'heard', runId, workflow: 'talks', traceId, traceId_: 'mine', note: 1 }]);
  });

  it.each([false, true])('in a step names the step and the attempt too (long: %s)', async (long) => {
    const { log, of } = recording();
    const tries = defineWorkflow({
      name: 'tries',
      run: async (ctx) =>
        ctx.step(
          'send',
          (step) => {
            step.log.info('sends', { to: 'x', attempt: 'mine' });
            if (step.attempt === 1) throw new Error('not yet');
          },
          { long },
        ),
    });
    const app = createTestApp(defineApp({ workflows: [tries] }), { log });
    const runId = await app.start(tries, null);
    await app.runToEnd(runId);
    const line = {
      event: 'sends',
      runId,
      workflow: 'tries',
      traceId,
      step: 'send',
      waitId: '1',
      attempt_: 'mine',
      to: 'x',
    };
    expect(of('sends')).toEqual([
      { ...line, attempt: 1 },
      { ...line, attempt: 2 },
    ]);
  });

  it('in a child has the trace of its parent', async () => {
    const { log, of } = recording();
    const inner = defineWorkflow({
      name: 'inner',
      run: async (ctx) => {
        ctx.log.info('in a run');
      },
    });
    const outer = defineWorkflow({
      name: 'outer',
      run: async (ctx) => {
        ctx.log.info('in a run');
        await ctx.child(inner, null);
      },
    });
    const app = createTestApp(defineApp({ workflows: [inner, outer] }), { log });
    await app.runToEnd(await app.start(outer, null));
    const lines = of('in a run');
    expect(lines.map(({ workflow }) => workflow)).toEqual(['outer', 'inner']);
    expect(lines[0]?.['traceId']).toBe(lines[1]?.['traceId']);
  });

  it('in a run that continues another one has a trace of its own', async () => {
    const { log, of } = recording();
    const again = defineWorkflow<{ left: number }>({
      name: 'again',
      run: async (ctx, { left }) => {
        ctx.log.info('in a run');
        if (left > 0) await ctx.continueAsNew({ left: left - 1 });
      },
    });
    const app = createTestApp(defineApp({ workflows: [again] }), { log });
    await app.runToEnd(await app.start(again, { left: 2 }));
    const traces = of('in a run').map((line) => line['traceId']);
    expect(new Set(traces).size).toBe(3);
  });

  it('is written even if its fields cannot be read', async () => {
    const { log, of } = recording();
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('hands off');
        },
      },
    );
    const talks = defineWorkflow({
      name: 'talks',
      run: async (ctx) => {
        ctx.log.info('odd', hostile);
      },
    });
    const app = createTestApp(defineApp({ workflows: [talks] }), { log });
    const runId = await app.start(talks, null);
    await app.runToEnd(runId);
    expect(of('odd')).toEqual([{ event: 'odd', runId, workflow: 'talks', traceId, fields: 'cannot be read' }]);
  });
});
