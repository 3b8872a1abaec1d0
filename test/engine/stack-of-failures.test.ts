import { expect, it } from 'vitest';
import type { Log } from '../../lib/base/log.js';
import { aFlow, started } from './support.js';

it('a workflow that fails leaves its stack in the log, once, and the message in the run', async () => {
  const warned: { readonly event: string; readonly error: unknown }[] = [];
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (event, fields) => void warned.push({ event, error: fields?.['error'] }),
    error: () => undefined,
  };
  const flow = aFlow(async (ctx) => {
    await ctx.sleep({ minutes: 1 });
    throw new TypeError('no month');
  });
  const { app, runId } = await started(flow, {}, { log });
  expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { message: 'no month' } });
  expect(warned).toMatchObject([{ event: 'workflow failed' }]);
  expect((warned[0]?.error as Error).stack).toContain('stack-of-failures.test.ts');
});
