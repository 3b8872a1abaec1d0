import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/base/json.js';
import { during, served } from './served-mcp.js';

type Status = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

const terminal: readonly Status[] = ['completed', 'failed', 'cancelled'];
const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };

/** What a workflow does, one after the other. */
const deeds = ['ask', 'say', 'sleep', 'step', 'continue', 'fail', 'reject'] as const;
/** What happens to its task from outside. */
const events = ['pass', 'answer', 'decline', 'wrongAnswer', 'oldAnswer', 'message', 'cancel', 'terminate'] as const;

type Deed = (typeof deeds)[number];

/** Serves a workflow that does what its input says. */
function servedFor(plan: readonly Deed[]) {
  return served(async (ctx, input) => {
    const { from = 0 } = input as { readonly from?: number };
    for (const [at, deed] of plan.entries()) {
      if (at < from) continue;
      switch (deed) {
        case 'ask':
          await ctx.ask({ to: 'caller', message: `Sure ${at}?`, schema, timeout: { hours: 1 } }).catch(() => undefined);
          break;
        case 'say':
          ctx.progress(`at ${at}`);
          break;
        case 'sleep':
          await ctx.sleep({ seconds: 30 });
          break;
        case 'step':
          await ctx.step('step', () => at);
          break;
        case 'continue':
          if (at > from) return ctx.continueAsNew({ from: at });
          break;
        case 'fail':
          throw new Error('no');
        case 'reject':
          return ctx.reject('never');
      }
    }
    return { done: plan.length };
  });
}

function updatedAtMs(task: JsonObject): number {
  return Date.parse(task['lastUpdatedAt'] as string);
}

/** Returns whether the protocol lets a task go from one status to the other. */
function isAllowed(from: Status, to: Status): boolean {
  return from === to || !terminal.includes(from);
}

it('MCP-S67, S0-143: the status of a task moves only as the protocol allows, what has ended stays as it is, and lastUpdatedAt never goes back', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...deeds), { maxLength: 6 }),
      fc.array(fc.constantFrom(...events), { minLength: 1, maxLength: 10 }),
      async (plan, happens) => {
        const { app, start, get, modern, legacy } = servedFor(plan);
        const taskId = await start();
        let before: JsonObject | undefined;
        let asked: string | undefined;
        const look = async (): Promise<void> => {
          const { pollIntervalMs: _, ...now } = await get(taskId);
          const older = (await legacy('tasks/get', { taskId })).body.result?.['status'] as Status;
          const status = now['status'] as Status;
          // A client of the older revision is not asked, and an error of a tool has failed there.
          if (status === 'working' || status === 'input_required') expect(older).toBe('working');
          else expect([status, status === 'completed' ? 'failed' : status]).toContain(older);
          if (before !== undefined) {
            const from = before['status'] as Status;
            expect(isAllowed(from, status), `${from} to ${status}`).toBe(true);
            if (terminal.includes(from)) expect(now).toEqual(before);
            expect(updatedAtMs(now)).toBeGreaterThanOrEqual(updatedAtMs(before));
          }
          before = now;
        };
        const update = async (key: string, response: JsonObject): Promise<void> => {
          await during(app, modern('tasks/update', { taskId, inputResponses: { [key]: response } }), 3);
        };
        await look();
        for (const event of happens) {
          const [key] = Object.keys((before?.['inputRequests'] ?? {}) as object);
          if (event === 'pass') await app.pass({ seconds: 20 });
          if (event === 'answer' && key !== undefined) await update(key, { action: 'accept', content: { ok: true } });
          if (event === 'decline' && key !== undefined) await update(key, { action: 'decline' });
          if (event === 'wrongAnswer' && key !== undefined) await update(key, { action: 'accept', content: { ok: 1 } });
          if (event === 'oldAnswer' && asked !== undefined) await update(asked, { action: 'decline' });
          if (event === 'message')
            await during(app, modern('tools/call', { name: 'signal_run', arguments: { runId: taskId, text: 'x' } }), 3);
          if (event === 'cancel') await during(app, modern('tasks/cancel', { taskId }), 3);
          if (event === 'terminate') await app.terminate(taskId);
          asked = key ?? asked;
          await look();
          await app.settleDown();
          await look();
        }
        await app.pass({ hours: 30 });
        await look();
        expect(terminal).toContain(before?.['status']);
      },
    ),
    { numRuns: 60, seed: 67 },
  );
});

it('MCP-S67: of a cancel and an end at the same time by two replicas, one holds for good', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const { app, start, get, modern } = served(async (ctx) => ctx.signal('go'));
    const taskId = await start();
    await app.settleDown();
    await Promise.all([app.signal(taskId, 'go', seed), modern('tasks/cancel', { taskId }), app.settleDown()]);
    await app.settleDown();
    const { pollIntervalMs: _, ...ended } = await get(taskId);
    expect(['completed', 'cancelled']).toContain(ended['status']);
    await modern('tasks/cancel', { taskId });
    await app.pass({ hours: 1 });
    expect(await get(taskId)).toMatchObject(ended);
  }
});
