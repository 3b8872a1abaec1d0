import { expect, test } from 'vitest';
import type { EventBus } from '../../../lib/bus/event-bus.js';
import type { LifecycleEvent } from '../../../lib/history/lifecycle-event.js';
import { aFlow, anApp } from '../../engine/support.js';
import { answerTo, TwoProcesses } from '../../engine/two-processes.js';

// Warm runs of a process between turns: they are used only if no other process has continued them, and contain only
// what is in the log.

test('newer commits: a process that remembers a run sees that another has gone on with it', async () => {
  const scene = new TwoProcesses(
    aFlow(async (ctx) => [await answerTo(ctx, 'one'), await answerTo(ctx, 'two'), await answerTo(ctx, 'three')]),
  );
  await scene.start();
  await scene.settle('1', 'a');
  await scene.turn(scene.b, { waitId: '1' });
  await scene.settle('2', 'b');
  await scene.turn(scene.a, { waitId: '2' });
  expect((await scene.log()).flatMap((event) => (event.type === 'TokenSettled' ? [event.waitId] : []))).toEqual([
    '1',
    '2',
  ]);
  await scene.settle('3', 'c');
  await scene.turn(scene.b, { waitId: '3' });
  expect(await scene.outcome()).toEqual({ status: 'completed', result: ['a', 'b', 'c'] });
});

test('what did not get into the log is not remembered: a later look may order it otherwise', async () => {
  const scene = new TwoProcesses(
    aFlow(async (ctx) => {
      const won = await Promise.race([answerTo(ctx, 'one'), answerTo(ctx, 'two')]);
      return ctx.step(`after ${String(won)}`, () => won);
    }),
  );
  const runId = await scene.start();
  const atMs = scene.a.clock.nowMs();
  await scene.settle('2', 'late');
  scene.table.refusesNext = true;
  // A turn without time for another pass hands over.
  await scene.turn(scene.a, { waitId: '2' }, 'run', 0);
  // Settled at an earlier instant, and seen only now.
  const outcome = { kind: 'completed', result: 'early', isError: false } as const;
  await scene.a.store.tokens.settle(runId, '1', { writerId: 'relay', atMs: atMs - 1, by: 'relay', outcome });
  await scene.turn(scene.a);
  const steps = (await scene.log()).flatMap((event) => (event.type === 'StepRequested' ? [event.name] : []));
  expect(steps).toEqual(['after early']);
  expect(await scene.outcome()).toEqual({ status: 'completed', result: 'early' });
});

test('inbox count: what came without its news is taken in with what came with it', async () => {
  const scene = new TwoProcesses(aFlow(async (ctx) => [await ctx.signal('go'), await ctx.signal('go')]));
  await scene.start();
  await scene.signal('a');
  await scene.turn(scene.a, { inboxId: await scene.signal('b') });
  expect(await scene.outcome()).toEqual({ status: 'completed', result: ['a', 'b'] });
});

test('blocks: what came to a run while it was blocked is taken in, though its marker is gone and nothing names it', async () => {
  const scene = new TwoProcesses(
    aFlow(async (ctx) => {
      const approved = answerTo(ctx, 'approval');
      return [await ctx.signal('go'), await approved];
    }),
  );
  await scene.start();
  await scene.settle('1', 'yes');
  await scene.turn({ ...scene.b, app: anApp(aFlow(async (ctx) => ctx.sleep({ days: 1 }))) }, { waitId: '1' });
  await scene.turn(scene.a, { inboxId: await scene.signal('now') });
  expect(await scene.outcome()).toEqual({ status: 'completed', result: ['now', 'yes'] });
});

test('unpublished: lifecycle events that a process could not publish are left out when another one has published them', async () => {
  const scene = new TwoProcesses(aFlow(async (ctx) => [await answerTo(ctx, 'one'), await answerTo(ctx, 'two')]));
  const bus = new FailingBus();
  const [a, b] = [
    { ...scene.a, bus },
    { ...scene.b, bus },
  ];
  await scene.start('run', a);
  expect(bus.types).toEqual([]);
  bus.isGone = false;
  await scene.turn(b);
  expect(bus.types).toEqual(['RunStarted']);
  await scene.turn(a);
  expect(bus.types).toEqual(['RunStarted']);
});

class FailingBus implements EventBus {
  isGone = true;
  readonly types: string[] = [];

  async publish(events: readonly LifecycleEvent[]): Promise<void> {
    if (this.isGone) throw new Error('gone');
    this.types.push(...events.map(({ type }) => type));
  }
}
