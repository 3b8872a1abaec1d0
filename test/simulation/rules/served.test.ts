import { expect, test } from 'vitest';
import { ServedScene } from './served-scene.js';

// Served tasks: one test for each rule, since a mutant of the engine lacks one rule.

test('a cancel that meets a run whose outcome is fixed is not acknowledged', async () => {
  const scene = new ServedScene({
    run: async (ctx) => {
      ctx.ask({ to: 'caller', message: 'Too late?' }).catch(() => undefined);
      await ctx.sleep({ seconds: 5 });
      return 'done';
    },
    faults: [{ who: 'turn', at: /a=completed/, what: 'freeze100' }],
  });
  scene.start(0, 'k');
  scene.at(6, (tasks) => tasks.cancel(scene.taskOf('k')));
  scene.say(6, 'k', 'm1');
  await scene.run();
  expect(scene.told.slice(1)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
  expect(await scene.read('k')).toMatchObject({ status: { state: 'completed' } });
});

test('an answer that names its question is not the answer to that of the next run', async () => {
  const scene = new ServedScene({
    run: async (ctx, { round = 1 }) => {
      if (round > 1) return ctx.ask({ to: 'caller', message: 'Second?' });
      await ctx.race([
        async (inner) => inner.ask({ to: 'caller', message: 'First?' }),
        (inner) => inner.sleep({ seconds: 5 }),
      ]);
      return ctx.continueAsNew({ round: 2 });
    },
    faults: [{ who: 'caller', at: /i#message/, what: (world) => ({ freezeUntil: () => world.seconds > 20 }) }],
    seconds: 200,
  });
  scene.start(0, 'k');
  scene.say(3, 'k', 'm1', { ifGenerationMatch: 3 });
  await scene.run();
  expect(scene.told[1]).toBe('QUESTION_CLOSED');
  expect(await scene.read('k')).toMatchObject({
    status: { state: 'input-required', message: { parts: [{ text: 'Second?' }] } },
  });
});

test('an answer that names an older question is refused', async () => {
  const scene = new ServedScene({
    run: async (ctx) => {
      const first = await ctx.ask({ to: 'caller', message: 'First?' });
      return [first, await ctx.ask({ to: 'caller', message: 'Second?' })];
    },
    seconds: 60,
  });
  scene.start(0, 'k');
  scene.say(3, 'k', 'm1', { ifGenerationMatch: 3 });
  scene.say(13, 'k', 'm2', { ifGenerationMatch: 3 });
  await scene.run();
  expect(scene.told[2]).toBe('QUESTION_CLOSED');
  expect(await scene.read('k')).toMatchObject({ status: { state: 'input-required' } });
});

test('of two answers at once one is taken, and the other is told', async () => {
  const scene = new ServedScene({ run: async (ctx) => ctx.ask({ to: 'caller', message: 'Which?' }) });
  scene.start(0, 'k');
  scene.say(3, 'k', 'm1');
  scene.say(3, 'k', 'm2');
  await scene.run();
  expect(scene.told[2]).toBe('QUESTION_CLOSED');
  expect((await scene.read('k')).artifacts).toEqual([
    { artifactId: 'result', parts: [{ data: { action: 'accept', content: { text: 'm1' } } }] },
  ]);
});

test('an answer that comes while its run ends is taken in before the end, or refused', async () => {
  const scene = new ServedScene({
    run: async (ctx) => {
      ctx.ask({ to: 'caller', message: 'Which?' }).catch(() => undefined);
      await ctx.sleep({ seconds: 5 });
      return 'done';
    },
    faults: [{ who: 'turn', at: /a=ending/, what: 'freeze3' }],
  });
  scene.start(0, 'k');
  // The turn has read what there is, and its commit comes after the answer.
  scene.say(6, 'k', 'm1');
  await scene.run();
  const { history } = await scene.read('k');
  expect(scene.told[1]).toMatchObject({ taskId: scene.taskOf('k') });
  expect(history.map(({ messageId }) => messageId)).toContain('m1');
});

test('starts of one key that race are one task, also when no further one may be live', async () => {
  const scene = new ServedScene({ run: async (ctx) => ctx.sleep({ seconds: 60 }), liveRuns: 1 });
  scene.start(0, 'k', 'm1');
  scene.start(0, 'k', 'm1');
  scene.start(5, 'k2', 'm2');
  await scene.run();
  const taskId = scene.taskOf('k');
  expect(scene.told).toMatchObject([{ taskId }, { taskId }, 'TENANT_LIMIT_REACHED']);
});

test('an answer whose process dies after its write is known when it is repeated', async () => {
  const scene = new ServedScene({
    run: async (ctx) => {
      const first = await ctx.ask({ to: 'caller', message: 'First?' });
      return [first, await ctx.ask({ to: 'caller', message: 'Second?' })];
    },
    faults: [{ who: 'caller', at: /i#message/, what: 'crashAfter' }],
    seconds: 200,
  });
  scene.start(0, 'k');
  scene.say(3, 'k', 'm1');
  scene.say(100, 'k', 'm1');
  await scene.run();
  expect(scene.told[2]).toMatchObject({ taskId: scene.taskOf('k') });
  expect(await scene.read('k')).toMatchObject({
    status: { state: 'input-required', message: { parts: [{ text: 'Second?' }] } },
  });
});

test('an answer that is sent twice at once is taken once, and both are told so', async () => {
  const scene = new ServedScene({ run: async (ctx) => ctx.ask({ to: 'caller', message: 'Which?' }) });
  scene.start(0, 'k');
  scene.say(3, 'k', 'm1');
  scene.say(3, 'k', 'm1');
  await scene.run();
  const taskId = scene.taskOf('k');
  expect(scene.told).toMatchObject([{ taskId }, { taskId }, { taskId }]);
});
