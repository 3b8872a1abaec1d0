import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { eventually } from '../../support/eventually.js';
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
  expect(watched.out).toMatch(/run started: greets[^]*signal name received: "you"[^]*run ended: completed/);
});

it('outwait watch ends with 1 for a run that does not exist', async () => {
  expect(await run('watch', '0'.repeat(32), '--url', engine.url)).toMatchObject({ code: 1, out: '' });
});

it('outwait watch of a delayed run says until when it is delayed, then follows it (F54)', async () => {
  const { out } = await run('start', 'greets', '--delay', '2s', '--url', engine.url);
  const runId = out.trim();
  const watching = run('watch', runId, '--url', engine.url);
  // Not by the command line, whose output is collected.
  await fetch(`${engine.url}/runs/${runId}/signals/name`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"payload":"you"}',
  });
  const watched = await watching;
  expect(watched.out).toMatch(/^delayed {4}it starts at \d{4}-\S+Z\n\S+Z {2}run started[^]*run ended: completed\n$/);
});

it('outwait watch of a paused run says that it is paused, and what to do (F54)', async () => {
  const { out } = await run('start', 'greets', '--url', engine.url);
  const runId = out.trim();
  await run('pause', runId, '--url', engine.url);
  await eventually(async () => {
    expect((await run('show', runId, '--url', engine.url)).out).toMatch(/^paused/m);
  });
  const watching = run('watch', runId, '--url', engine.url);
  await fetch(`${engine.url}/runs/${runId}/terminate`, { method: 'POST' });
  expect((await watching).out).toMatch(/run paused; it goes on at \S+Z/);
});

it('outwait watch --json has one line for each batch, and nothing else (F45)', async () => {
  const { out } = await run('start', 'greets', '--delay', '1s', '--url', engine.url);
  const runId = out.trim();
  const watching = run('watch', runId, '--json', '--url', engine.url);
  await fetch(`${engine.url}/runs/${runId}/signals/name`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"payload":"you"}',
  });
  const batches = (await watching).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { events: { type: string }[] });
  expect(batches.flatMap(({ events }) => events.map(({ type }) => type))).toContain('RunEnded');
});

it('outwait history --limit gives the newest events, and such a history is not replayed (F54)', async () => {
  const { out } = await run('start', 'greets', '--url', engine.url);
  const runId = out.trim();
  await run('signal', runId, 'name', '--payload', '"you"', '--url', engine.url);
  await run('watch', runId, '--url', engine.url);
  const { out: text } = await run('history', runId, '--limit', '1', '--url', engine.url);
  expect(text).toMatch(/^\(\d earlier events left out\)\n\d +\S+Z {2}run ended: completed\n$/);
  const { out: json } = await run('history', runId, '--limit', '1', '--json', '--url', engine.url);
  const folder = await mkdtemp(join(tmpdir(), 'outwait-history-'));
  try {
    await writeFile(join(folder, 'h.json'), json);
    expect(await run('replay', join(folder, 'h.json'))).toMatchObject({
      code: 1,
      err: expect.stringContaining('lacks the first events; export it without --limit') as unknown,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
