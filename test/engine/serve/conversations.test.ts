import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Deps } from '../../../lib/operations/deps.js';
import { messageInboxId } from '../../../lib/operations/serve/read-task.js';
import { wakeRun } from '../../../lib/operations/wake.js';
import { saidIn, ServedApp } from './served-app.js';

interface Round {
  readonly round?: number;
}

describe('a conversation with a served workflow', () => {
  it('is shown whole by the reply that waited for the end of the task', async () => {
    const served = new ServedApp(async (ctx) => {
      const answer = await ctx.ask({ to: 'caller', message: 'Which?' });
      for await (const { messageId } of ctx.messages()) return [answer.action, messageId];
      return undefined;
    });
    const { app, tasks } = served;
    const taskId = await served.start();
    await tasks.send({ taskId, message: served.message('blue') });
    const waiting = tasks.waitFor(taskId, { untilMs: Infinity });
    await app.settleDown();
    await tasks.send({ taskId, message: served.message('and red') });
    await app.pass({ seconds: 10 });
    const task = await waiting;
    expect(saidIn(task.history)).toEqual(['blue', 'and red']);
    expect(task).toEqual(await tasks.read(taskId));
  });

  it('takes a repeated answer as what it was, also when a later run asks the next question', async () => {
    const served = new ServedApp(async (ctx, input) => {
      const { round = 1 } = input as Round;
      const answer = await ctx.ask({ to: 'caller', message: `Question ${round}` });
      return round === 1 ? ctx.continueAsNew({ round: 2 }) : answer;
    });
    const { app, tasks } = served;
    const taskId = await served.start();
    const first = served.message('one');
    await tasks.send({ taskId, message: first });
    await app.settleDown();
    await tasks.send({ taskId, message: first });
    await app.settleDown();
    const asked = await tasks.read(taskId);
    expect(asked.status).toMatchObject({ state: 'input-required', message: { parts: [{ text: 'Question 2' }] } });
    await tasks.send({ taskId, message: served.message('two') });
    await app.settleDown();
    expect((await tasks.read(taskId)).artifacts[0]?.parts).toEqual([
      { data: { action: 'accept', content: { text: 'two' } } },
    ]);
    expect(await served.said(taskId)).toEqual(['one', 'two']);
  });

  it('takes a repeated answer as what it was, also when it does not fit the next question', async () => {
    const served = new ServedApp(async (ctx) => {
      const name = await ctx.ask({ to: 'caller', message: 'Who?' });
      const count = await ctx.ask({ to: 'caller', message: 'How many?', schema: z.object({ count: z.number() }) });
      return [name, count];
    });
    const { app, tasks } = served;
    const taskId = await served.start();
    const first = served.message('Ann');
    await tasks.send({ taskId, message: first });
    await app.settleDown();
    expect((await tasks.send({ taskId, message: first })).status.state).toBe('input-required');
    await expect(tasks.send({ taskId, message: served.message('many') })).rejects.toThrow('count');
    await tasks.send({ taskId, message: served.message('3') });
    await app.settleDown();
    expect(await served.said(taskId)).toEqual(['Ann', '3']);
  });

  it('does not begin while the workflow is busy and refuses others, who are not told with whom', async () => {
    const served = new ServedApp(async (ctx) => ctx.sleep({ hours: 1 }), {
      concurrency: { key: () => 'one', whenBusy: 'refuse' },
    });
    const taskId = await served.start();
    const refused = await served.start().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'TOO_MANY_REQUESTS', details: { retryAfterMs: 30_000 } });
    expect(JSON.stringify([(refused as Error).message, refused])).not.toContain(taskId);
  });

  it('shows no question of a run that has continued without its answer', async () => {
    const served = new ServedApp(async (ctx, input) => {
      const { round = 1 } = input as Round;
      if (round === 1) {
        ctx.ask({ to: 'caller', message: 'Too late?' }).catch(() => undefined);
        await ctx.sleep({ seconds: 5 });
        return ctx.continueAsNew({ round: 2 });
      }
      for await (const { parts } of ctx.messages()) return parts;
      return undefined;
    });
    const { app, tasks } = served;
    const taskId = await served.start();
    expect((await tasks.read(taskId)).status.state).toBe('input-required');
    await app.pass({ seconds: 10 });
    const went = await tasks.read(taskId);
    expect(went.status.state).toBe('working');
    await tasks.send({ taskId, message: served.message('hello') });
    await app.settleDown();
    const done = await tasks.read(taskId);
    expect(done.artifacts[0]?.parts).toEqual([{ data: [{ text: 'hello' }] }]);
    expect(done.generation - went.generation, 'the message, the result and the end').toBe(3);
  });

  it('takes messages of 32 MiB in all, whether anyone reads them; a repeat is known, and it can be cancelled', async () => {
    const served = new ServedApp(async (ctx) => ctx.sleep({ days: 1 }));
    const { app, tasks } = served;
    const { deps } = app as unknown as { readonly deps: Deps };
    const taskId = await served.start();
    // Put as `send` does, which would read all those before it.
    for (let at = 0; at < 33; at++) {
      const message = { ...served.message('x'.repeat(1024 * 1024)), messageId: `large-${at}` };
      const record = { runId: taskId, kind: 'message', payload: message, atMs: 0, dueAtMs: 0, position: at } as const;
      await deps.store.inbox.put({ ...record, inboxId: messageInboxId(message.messageId) });
    }
    await wakeRun(deps, taskId);
    await app.settleDown();
    await expect(tasks.send({ taskId, message: served.message('more') })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    const repeat = { ...served.message('x'.repeat(1000)), messageId: 'large-3' };
    expect((await tasks.send({ taskId, message: repeat })).taskId).toBe(taskId);
    const cancelling = tasks.cancel(taskId);
    await app.pass({ seconds: 3 });
    expect((await cancelling).status.state).toBe('canceled');
  });
});
