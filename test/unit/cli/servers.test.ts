import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { ServerStates } from '../../../lib/store/parts/server-states.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { a2aAgent, defineApp, mcpServer } from '../../../lib/workflow/app.js';
import { run } from './in-process.js';

let engine: LocalEngine;
const table = new MemoryTable();
beforeAll(async () => {
  const url = 'https://canary.example/mcp?key=canary';
  const auth = { bearer: 'canary' };
  engine = await startLocalEngine({
    app: defineApp({
      workflows: [],
      servers: {
        reports: mcpServer({ url, auth }),
        supplier: a2aAgent({ url, auth, limits: { concurrency: 4, perMinute: 60 } }),
        quiet: mcpServer({ url, limits: { breaker: false } }),
      },
    }),
    table,
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  const states = new ServerStates(table);
  const atMs = Date.now();
  await states.noteFailure('supplier', { atMs, streakMs: 1, seen: { failures: 0, trips: 0 } });
  for (const name of ['reports', 'quiet']) await states.open(name, { atMs, untilMs: atMs + 600_000 });
});
afterAll(() => engine.stop());

describe('GB-29: outwait servers', () => {
  it('shows how each server stands, and no address', async () => {
    const { code, out } = await run('servers', '--url', engine.url);
    expect(code).toBe(0);
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/).slice(0, 4));
    expect(rows).toEqual([
      ['SERVER', 'PROTOCOL', 'STATE', 'FAILURES'],
      ['quiet', 'mcp', 'ok', '0'],
      ['reports', 'mcp', 'left alone', '0'],
      ['supplier', 'a2a', 'failing', '1'],
    ]);
    expect(out).not.toContain('canary');
  });

  it('gives the same as JSON', async () => {
    const { out } = await run('servers', '--json', '--url', engine.url);
    const { servers } = JSON.parse(out) as { servers: { name: string; leftAloneUntilMs?: number }[] };
    expect(servers.map(({ name, leftAloneUntilMs }) => [name, leftAloneUntilMs !== undefined])).toEqual([
      ['quiet', false],
      ['reports', true],
      ['supplier', false],
    ]);
    expect(servers[2]).toMatchObject({ limits: { concurrency: 4, perMinute: 60 } });
    expect(out).not.toContain('canary');
  });

  it('the route takes no query', async () => {
    expect((await fetch(`${engine.url}/servers?x=1`)).status).toBe(400);
    expect((await fetch(`${engine.url}/servers`, { method: 'POST' })).status).toBe(405);
  });
});
