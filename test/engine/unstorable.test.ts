import { defineApp, defineWorkflow, EngineError, hasCode, mcpServer } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { startRun } from '../../lib/operations/requests/start-run.js';

function cyclic(): { self?: unknown } {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

describe('what an author throws and no store can hold', () => {
  it.each([
    ['an error of ours with cyclic details', () => new EngineError('INTERNAL', 'no', { details: cyclic() as never })],
    ['an error whose name holds a BigInt', () => Object.assign(new Error('no'), { name: { big: 1n } })],
    ['an error whose message is a Symbol', () => Object.assign(new Error('no'), { message: Symbol('no') })],
    ['an error with half a character in its text', () => new Error('\ud800')],
    [
      'a Proxy that throws whatever is asked of it',
      () =>
        new Proxy(new Error('no'), {
          get: () => {
            throw new Error('trap');
          },
          getPrototypeOf: () => {
            throw new Error('trap');
          },
        }),
    ],
  ])('ends the run as failed: %s', async (_, thrown) => {
    for (const inStep of [false, true]) {
      const flow = defineWorkflow({
        name: 'flow',
        run: (ctx) => {
          if (!inStep) throw thrown();
          return ctx.step(
            'throws',
            () => {
              throw thrown();
            },
            { retry: { maxAttempts: 1 } },
          );
        },
      });
      const app = createTestApp(defineApp({ workflows: [flow] }));
      const runId = await app.start(flow);
      expect((await app.runToEnd(runId)).status).toBe('failed');
    }
  });
});

describe('text that is half a character', () => {
  const flow = defineWorkflow({
    name: 'flow',
    run: (ctx) =>
      ctx.callRemoteTask({ server: '\ud800', tool: 't' }).catch((error: unknown) => (error as EngineError).code),
  });
  const app = createTestApp(
    defineApp({ workflows: [flow], servers: { s: mcpServer({ url: 'https://s.example.com/' }) } }),
  );

  it('is refused as the name of a server', async () => {
    expect(await app.runToEnd(await app.start(flow))).toEqual({ status: 'completed', result: 'INPUT_INVALID' });
  });

  it('is refused as a key of a start', async () => {
    const started = startRun(app.deps, { workflow: 'flow', key: '\ud800' });
    await expect(started).rejects.toSatisfy((error) => hasCode(error, 'INPUT_INVALID'));
  });

  it('is mended in the reason of a cancel', async () => {
    const runId = await app.start(flow);
    expect(await requestStop(app.deps, { runId, kind: 'cancel', reason: 'a\ud800' })).toEqual({ accepted: true });
  });
});
