import { expect, it } from 'vitest';
import { pushLoad } from '../../../bench/pushes/push-load.js';

it('200 pushes a second: none is lost, none counts twice', { timeout: 60_000 }, async () => {
  const load = { tasks: 40, pushesOfTask: 10, perSecond: 200 };
  const { answers, settlements, right, settledMs } = await pushLoad(load);
  expect({ answers, settlements, right }).toEqual({ answers: { 202: 400 }, settlements: { 1: 40 }, right: 40 });
  // The reads that come without pushes are a minute apart.
  expect(Math.max(...settledMs)).toBeLessThan(20_000);
});
