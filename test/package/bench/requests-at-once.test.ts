import { expect, test } from 'vitest';
import { signalsAtOnce, wakesLeftOver } from '../../../bench/measure-requests-at-once.js';

test('F09 two hundred signals at once to one run are all accepted, and none is doubled', async () => {
  const { accepted, refused, takenIn } = await signalsAtOnce(200);
  expect({ accepted, refused, takenIn }).toEqual({ accepted: 200, refused: 0, takenIn: 200 });
});

test('F87 each wake that is left over of an ended run is one read of one item', async () => {
  expect(await wakesLeftOver(200)).toEqual({ reads: 1, items: 1 });
});
