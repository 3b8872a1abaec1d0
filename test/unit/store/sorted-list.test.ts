import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SortedList } from '../../../lib/store/memory/sorted-list.js';

it('keeps its values in order, one of each rank, whatever is set and deleted', () => {
  const change = fc.record({
    kind: fc.constantFrom('set' as const, 'set' as const, 'delete' as const),
    key: fc.nat(20),
    tag: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const list = new SortedList<{ key: number; tag: number }>((a, b) => a.key - b.key);
      const expected = new Map<number, number>();
      for (const { kind, key, tag } of changes) {
        if (kind === 'set') expected.set(key, tag);
        else expected.delete(key);
        list[kind]({ key, tag });
      }
      const sorted = [...expected].sort(([a], [b]) => a - b).map(([key, tag]) => ({ key, tag }));
      expect(list.slice(0, list.length)).toEqual(sorted);
    }),
  );
});

it('adds at the end with one comparison, however long it is', () => {
  let comparisons = 0;
  const list = new SortedList<number>((a, b) => {
    comparisons++;
    return a - b;
  });
  for (let n = 0; n < 10_000; n++) list.set(n);
  expect(list.length).toBe(10_000);
  expect(comparisons).toBeLessThanOrEqual(10_000);
});

it('keeps its order while values come at the end and go from the front, however many', () => {
  const list = new SortedList<number>((a, b) => a - b);
  const expected: number[] = [];
  const wrongAfter: number[] = [];
  for (let n = 0; n < 6_000; n++) {
    if (list.at(0) !== expected[0] || list.length !== expected.length) wrongAfter.push(n);
    list.set(n);
    expected.push(n);
    if (n % 3 === 0) continue;
    // Mostly the first one, now and then one near the front or near the end.
    const at = n % 50 === 1 ? expected.length - 2 : n % 20 === 1 ? 2 : 0;
    for (const gone of expected.splice(Math.max(at, 0), 1)) list.delete(gone);
  }
  for (let n = 0; n < 1_900; n++) for (const gone of expected.splice(0, 1)) list.delete(gone);
  expect(wrongAfter).toEqual([]);
  expect(list.length).toBe(expected.length);
  expect(list.slice(0, list.length)).toEqual(expected);
  expect(list.at(0)).toBe(expected[0]);
  expect(list.at(list.length)).toBeUndefined();
});
