import { defineApp, defineWorkflow, type WhenBusy } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { expect, test } from 'vitest';
import { isEngineError } from '../../../lib/base/errors.js';
import { startRun, type StartRequest } from '../../../lib/operations/requests/start-run.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { headItem } from '../../../lib/store/items/head.js';

// Lanes: one test for each rule, since a mutant of the engine lacks one rule.

function newApp(whenBusy: WhenBusy = 'queue') {
  const holds = defineWorkflow<{ rounds?: number }>({
    name: 'holds',
    concurrency: { key: () => 'k', whenBusy },
    run: async (ctx, { rounds = 0 }) => {
      await ctx.signal('done');
      return rounds > 0 ? ctx.continueAsNew({ rounds: rounds - 1 }) : null;
    },
  });
  const parent = defineWorkflow({ name: 'parent', run: async (ctx) => ctx.child(holds, {}) });
  const kit = createTestApp(defineApp({ workflows: [holds, parent] }));
  const start = async (more: Partial<StartRequest> = {}) => {
    const { runId } = await startRun(kit.deps, { workflow: 'holds', input: {}, ...more });
    await kit.settleDown();
    return runId;
  };
  const end = async (runId: string) => {
    await kit.signal(runId, 'done');
    await kit.settleDown();
  };
  const statusOf = async (runId: string): Promise<string> => (await kit.show(runId)).status;
  const hasBegun = async (runId: string): Promise<boolean> =>
    (await kit.history(runId)).events.some(({ type }) => type === 'RunStarted');
  return { kit, start, end, statusOf, hasBegun };
}

async function codeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return isEngineError(error) ? error.code : error;
  }
}

/** Runs `before` just before a run first begins to wait behind another one. */
function beforeWait({ deps }: TestApp, runId: string, before: () => Promise<void>): void {
  const { lanes } = deps.store;
  const waitBehind = lanes.waitBehind.bind(lanes);
  lanes.waitBehind = async (run, ...rest) => {
    if (run.runId !== runId) return waitBehind(run, ...rest);
    lanes.waitBehind = waitBehind;
    await before();
    return waitBehind(run, ...rest);
  };
}

/** Loses the wakes of a run. */
function loseWakes({ deps: { queues } }: TestApp, runId: string): void {
  const send = queues.sendTurn.bind(queues);
  queues.sendTurn = async (message, dedupId) =>
    message.runId === runId && !dedupId.startsWith('sweep') ? undefined : send(message, dedupId);
}

test('L1 two starts at once have one order', async () => {
  const { kit, hasBegun } = newApp();
  const runs = await Promise.all([1, 2, 3].map(() => startRun(kit.deps, { workflow: 'holds', input: {} })));
  await kit.settleDown();
  const begun = await Promise.all(runs.map(({ runId }) => hasBegun(runId)));
  expect(begun.filter(Boolean)).toHaveLength(1);
});

test('L2 a run waits for the one before it', async () => {
  const { start, end, hasBegun } = newApp();
  const [first, second] = [await start(), await start()];
  expect(await hasBegun(second)).toBe(false);
  await end(first);
  expect(await hasBegun(second)).toBe(true);
});

test('L2 a run waits behind one that was cancelled before its turn', async () => {
  const { kit, start, statusOf, hasBegun } = newApp();
  await start();
  const [second, third] = [await start(), await start()];
  await kit.cancel(second);
  await kit.settleDown();
  expect([await statusOf(second), await hasBegun(second)]).toEqual(['cancelled', false]);
  expect(await hasBegun(third)).toBe(false);
});

test('L2 a start looks past a run that was cancelled before its turn', async () => {
  const { kit, start, hasBegun } = newApp();
  await start();
  await kit.cancel(await start());
  await kit.settleDown();
  expect(await hasBegun(await start())).toBe(false);
});

test('L2 a run that waits ends at its deadline', async () => {
  const { kit, start, statusOf } = newApp();
  await start();
  const second = await start({ timeoutMs: 100_000 });
  await kit.pass({ minutes: 2 });
  expect(await statusOf(second)).toBe('failed');
});

test('L3 a run does not wait behind one that has ended meanwhile', async () => {
  const { kit, start, end, hasBegun } = newApp();
  const first = await start();
  const { runId } = await startRun(kit.deps, { workflow: 'holds', input: {} });
  beforeWait(kit, runId, () => end(first));
  await kit.pass({ minutes: 2 });
  expect(await hasBegun(runId)).toBe(true);
});

test('L3 a run that has ended does not take the place of the one behind it', async () => {
  const { kit, start, end, hasBegun } = newApp();
  const first = await start();
  const { queues } = kit.deps;
  const send = queues.sendTurn.bind(queues);
  queues.sendTurn = async () => undefined;
  const second = await startRun(kit.deps, { workflow: 'holds', input: {} });
  const third = await startRun(kit.deps, { workflow: 'holds', input: {} });
  queues.sendTurn = send;
  for (const { runId } of [second, third]) loseWakes(kit, runId);
  // A turn of the second run hangs before it waits; another one ends the run, and the third takes its place.
  beforeWait(kit, second.runId, async () => {
    await kit.cancel(second.runId);
    for (const { runId } of [second, third]) await runTurn(kit.deps, { runId }, { remainingMs: () => 60_000 });
  });
  await runTurn(kit.deps, { runId: second.runId }, { remainingMs: () => 60_000 });
  await end(first);
  await kit.pass({ minutes: 2 });
  expect(await hasBegun(third.runId)).toBe(true);
});

test('L4 the end of a run wakes the next one', async () => {
  const { start, end, hasBegun } = newApp();
  const runs = [await start(), await start(), await start()];
  await end(runs[0]!);
  await end(runs[1]!);
  expect(await hasBegun(runs[2]!)).toBe(true);
});

test('L4 a sweep brings the next run back if its wake was lost', async () => {
  const { kit, start, end, hasBegun } = newApp();
  const [first, second] = [await start(), await start()];
  loseWakes(kit, second);
  await end(first);
  await kit.pass({ minutes: 2 });
  expect(await hasBegun(second)).toBe(true);
});

test('L4 the end of a continuation wakes the next run', async () => {
  const { kit, start, end, hasBegun } = newApp();
  const first = await start({ input: { rounds: 1 } });
  const second = await start();
  await end(first);
  expect(await hasBegun(second)).toBe(false);
  const { nextRunId } = await kit.show(first);
  await kit.pass({ minutes: 2 });
  await end(nextRunId!);
  expect(await hasBegun(second)).toBe(true);
});

test('L5 a newer run cancels the one under way', async () => {
  const { kit, start, statusOf } = newApp('replace');
  const first = await start();
  await start();
  await kit.pass({ minutes: 2 });
  expect(await statusOf(first)).toBe('cancelled');
});

test('L6 a start is refused while a run is under way', async () => {
  const { start } = newApp('refuse');
  await start();
  expect(await codeOf(start())).toBe('CONCURRENCY_KEY_BUSY');
});

test('L6 a start that was accepted before is found, not refused', async () => {
  const { kit } = newApp('refuse');
  const request = { workflow: 'holds', input: {}, key: 'key' };
  const { heads } = kit.deps.store;
  const read = heads.read.bind(heads);
  // The same start is accepted just after this one has looked for it.
  heads.read = async (runId) => {
    heads.read = read;
    const known = await read(runId);
    await startRun(kit.deps, request);
    return known;
  };
  expect(await codeOf(startRun(kit.deps, request))).toMatchObject({ deduplicated: true });
});

test('L7 a child has its place', async () => {
  const { kit, start, statusOf } = newApp();
  await start();
  const { runId } = await startRun(kit.deps, { workflow: 'parent' });
  await kit.settleDown();
  const [wait] = (await kit.show(runId)).waits;
  const child = (wait?.kind === 'child' ? wait.childRunId : undefined) ?? '';
  expect(await statusOf(child)).toBe('running');
  expect((await kit.history(child)).events).toEqual([]);
});

test('L8 a version that does not know lanes does not read the head of a run in one', async () => {
  const { kit, start, end } = newApp();
  const first = await start({ input: { rounds: 1 } });
  await end(first);
  const { nextRunId = '' } = await kit.show(first);
  for (const runId of [first, nextRunId])
    expect(headItem((await kit.deps.store.heads.read(runId))!, 'writer')).toMatchObject({
      format: 3,
      concurrencyKey: 'k',
    });
});
