import { setImmediate as eventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { drainMicrotasks } from '../../../lib/process/drain.js';

let rejections: unknown[] = [];
const listen = (reason: unknown): number => rejections.push(reason);
let others: NodeJS.UnhandledRejectionListener[] = [];

beforeEach(() => {
  rejections = [];
  others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', listen);
});
afterEach(() => {
  process.off('unhandledRejection', listen);
  for (const other of others) process.on('unhandledRejection', other);
});

/** Rejects an async function that is never awaited. */
const rejectLater = (): void => {
  const fails = async (): Promise<void> => {
    await Promise.resolve();
    throw new Error('in nobody’s hands');
  };
  void fails();
};

it('a quiet drain handles what is rejected meanwhile, and nothing before or after it', async () => {
  rejectLater();
  await drainMicrotasks({ quietly: true });
  await eventLoop();
  expect(rejections).toEqual([]);
  rejectLater();
  await drainMicrotasks();
  await eventLoop();
  expect(rejections).toHaveLength(1);
});

it('quiet drains beside each other run dry, and the last one ends the quiet', async () => {
  await Promise.all([1, 2, 3].map(async () => drainMicrotasks({ quietly: true })));
  await eventLoop();
  rejectLater();
  await eventLoop();
  expect(rejections).toHaveLength(1);
});
