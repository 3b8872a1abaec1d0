import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const greets = defineWorkflow({
  name: 'greets',
  run: async (ctx) => `hello ${await ctx.signal('name', { schema: z.string() })}`,
});

let engine: LocalEngine;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({ workflows: [greets] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(() => engine.stop());

it('outwait watch prints the events of a run until it ends', async () => {
  const { out } = await run('start', 'greets', '--url', engine.url);
  const runId = /[0-9a-f]{32}/.exec(out)![0];
  await run('signal', runId, 'name', '--payload', '"you"', '--url', engine.url);
  const watched = await run('watch', runId, '--url', engine.url);
  expect(watched.code).toBe(0);
  expect(watched.out).toMatch(/RunStarted[^]*SignalReceived[^]*RunEnded/);
});

it('outwait watch ends with 1 for a run that does not exist', async () => {
  expect(await run('watch', '0'.repeat(32), '--url', engine.url)).toMatchObject({ code: 1, out: '' });
});
