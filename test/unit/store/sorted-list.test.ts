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
