import { expect, it } from 'vitest';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { during, served } from './served-mcp.js';

const nobody = 'f'.repeat(32);

/** Ids of which ann must learn nothing: none of them is that of a task of hers. */
async function foreignIds() {
  const parts = served(async (ctx) => ctx.signal('go'));
  const { app, start } = parts;
  const ofBob = await start({ caller: 'bob' });
  const ofOtherTenant = await start({ caller: 'ann@acme' });
  const { runId: unserved } = await startRun(app.deps, { workflow: 'flow' });
  await app.settleDown();
  for (const id of [ofBob, ofOtherTenant, unserved]) expect(id).toMatch(/^[0-9a-f]{32}$/);
  return { ...parts, ids: [nobody, ofBob, ofOtherTenant, unserved] };
}

/** Leaves out the id that was asked for, which a client knows. */
const without = (text: string, id: string): string => text.replaceAll(id, '<id>');

it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
  'MCP-S63, S0-147: %s answers equally, byte for byte, for an id that never was, another caller, another tenant and an unserved run',
  async (method) => {
    const { app, ids, modern } = await foreignIds();
    const said: string[] = [];
    for (const taskId of ids) {
      const { status, text } = await during(app, modern(method, { taskId, inputResponses: {} }), 3);
      said.push(`${status} ${without(text, taskId)}`);
    }
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toContain('-32602');
  },
);

it.each(['tasks/get', 'tasks/result', 'tasks/cancel'])(
  'MCP-S63: %s of 2025-11-25 answers equally, byte for byte, for such ids',
  async (method) => {
    const { app, ids, legacy } = await foreignIds();
    const said: string[] = [];
    for (const taskId of ids) {
      const { status, text } = await during(app, legacy(method, { taskId }), 3);
      said.push(`${status} ${without(text, taskId)}`);
    }
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toContain('-32602');
  },
);

it.each([
  ['run_status', {}],
  ['wait_for_run', {}],
  ['signal_run', { text: 'x' }],
  ['cancel_run', {}],
])('MCP-S63: the tool %s answers equally, byte for byte, for such ids', async (name, more) => {
  const { app, ids, modern } = await foreignIds();
  const said: string[] = [];
  for (const runId of ids) {
    const call = modern('tools/call', { name, arguments: { runId, ...more } }, { capabilities: {} });
    const { status, text } = await during(app, call, 3);
    said.push(`${status} ${without(text, runId)}`);
  }
  expect(new Set(said).size).toBe(1);
  expect(said[0]).toContain('There is no run with this id');
});

it('MCP-S63: a list of runs has none of them', async () => {
  const { modern, ids } = await foreignIds();
  const { text } = await modern('tools/call', { name: 'run_status', arguments: {} }, { capabilities: {} });
  for (const id of ids) expect(text).not.toContain(id);
});
