import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { a2aAgent, defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { closeAll, serve } from '../../unit/remote/loopback.js';

afterEach(closeAll);

it('F62: 200 starts without an answer hold up no start at another server, and each has two timers', async () => {
  let whenCalled = (): void => undefined;
  const called = async (): Promise<void> => new Promise((resolve) => (whenCalled = resolve));
  const neverAnswered = (): void => {
    whenCalled();
  };
  const [patient, other] = [await serve(neverAnswered), await serve(neverAnswered)];
  const calls = defineWorkflow<{ server: string }>({
    name: 'calls',
    run: async (ctx, { server }) => {
      await ctx.callRemoteTask({ server, message: { parts: [{ text: 'report' }] } });
    },
  });
  const engine = await startLocalEngine({
    app: defineApp({
      workflows: [calls],
      servers: { patient: a2aAgent({ url: patient.url }), other: a2aAgent({ url: other.url }) },
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'k1', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  const start = async (server: string): Promise<void> => {
    const body = JSON.stringify({ workflow: 'calls', input: { server } });
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${engine.url}/runs`, { method: 'POST', headers, body })).ok).toBe(true);
  };
  const timersBefore = timersOf();
  // Starts follow one another, so that no batch contains two of them.
  for (let at = 0; at < 200; at++) await Promise.all([called(), start('patient')]);
  await Promise.all([called(), start('other')]);
  // The limits of the function and of the request. A few more belong to turns and to connections of this test.
  expect(timersOf() - timersBefore).toBeLessThan(2 * 200 + 20);
  expect([patient.received.length, other.received.length]).toEqual([200, 1]);
  // Work in progress ends with its connections, and the engine with that.
  await closeAll();
  await engine.stop();
});

function timersOf(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
