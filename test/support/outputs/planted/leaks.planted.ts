import { describe, it } from 'vitest';
import type { LifecycleEvent } from '../../../../lib/history/lifecycle-event.js';
import { createTestApp } from '../../../../lib/testing/test-app.js';
import { ScriptedServer } from '../../../../lib/testing/scripted-server.js';
import { defineApp, mcpServer } from '../../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../../lib/workflow/define-workflow.js';

// Passes, as tests do whose engine leaks; the set-up has to fail the file, once for each kind and output.

const waits = defineWorkflow({
  name: 'waits',
  run: (ctx) => ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 1 } }),
});

async function aRun() {
  const servers = { reports: new ScriptedServer({ protocol: 'mcp', task: () => ({ never: true }) }) };
  const config = { workflows: [waits], servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) } };
  const app = createTestApp(defineApp(config), { servers, bus: true });
  const runId = await app.start(waits);
  await app.pass({ minutes: 1 });
  const { deps } = app;
  const [tokens, push] = [deps.tokens, deps.tokens.pushToken({ runId, waitId: '1', server: 'reports' })];
  const taskId = (await deps.store.tokens.read(runId, '1'))?.handle?.taskId ?? '';
  const leaks = {
    secret: 'canary-of-a-test',
    encoded: Buffer.from('user:canary-of-a-test').toString('base64'),
    token: tokens.settleToken({ runId, waitId: '1' }),
    pushSecret: push.secret,
    taskId: taskId,
  };
  return { deps, runId, leaks };
}

describe('a planted leak', () => {
  it.each(['secret', 'encoded', 'token', 'pushSecret', 'taskId'] as const)('of the kind %s', async (kind) => {
    const { deps, runId, leaks } = await aRun();
    const leak = leaks[kind];
    // Cuts out what looks like a token, so the token is planted without its first parts.
    deps.log.warn('planted', { note: kind === 'token' ? leak.split('.').at(-1) : leak });
    deps.metrics!.put('RemoteStarts', 1, { server: leak, result: 'planted' });
    await deps.bus?.publish([{ type: 'RunCompleted', tags: { planted: leak } } as unknown as LifecycleEvent]);
    const times = { startMs: 0, endMs: 1 };
    deps.spans?.record({ ...times, kind: 'run', run: { runId, workflow: leak, version: '1' }, end: 'planted' });
  });
});
