import fc from 'fast-check';
import type { Condition, Key, Scalar, Write } from '../../lib/store/table.js';

/** A call of the table: one write, or a transaction of several. */
export type Call = readonly Write[];

const numbers = fc.integer({ min: -2, max: 4 });
const words = fc.constantFrom('x', 'y', 'ä😀');

/**
 * Generates writes with few keys and values, so that they meet; both indexes, an attribute that one of them projects,
 * and plain attributes.
 */
export function arbitraryCalls(prefix: string): fc.Arbitrary<Call[]> {
  const key = fc.record({ pk: fc.constantFrom(`${prefix}-1`, `${prefix}-2`), sk: fc.constantFrom('a', 'h#1', 't#1') });
  const attributes: fc.Arbitrary<Record<string, Scalar>> = fc.record(
    {
      dueShard: fc.constantFrom(`${prefix}-s`, `${prefix}-r`),
      dueAtMs: numbers,
      listPartition: fc.constant(`${prefix}-l`),
      listSort: words,
      settledAtMs: numbers,
      count: numbers,
      word: words,
    },
    { requiredKeys: [] },
  );
  const write = fc
    .tuple(key, fc.array(condition, { maxLength: 2 }))
    .chain(([at, conditions]) => writeOf(at, attributes, conditions));
  const call = fc.uniqueArray(write, {
    minLength: 1,
    maxLength: 3,
    selector: (one) => (one.kind === 'put' ? `${one.item.pk} ${one.item.sk}` : `${one.key.pk} ${one.key.sk}`),
  });
  return fc.array(call, { minLength: 1, maxLength: 12 });
}

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ kind: fc.constantFrom('itemExists' as const, 'itemAbsent' as const) }),
  fc.record({
    kind: fc.constantFrom('absent' as const, 'present' as const),
    attribute: fc.constantFrom('word', 'count', 'dueAtMs'),
  }),
  fc.record({
    kind: fc.constant('equals' as const),
    attribute: fc.constantFrom('word', 'count', 'sk'),
    value: fc.oneof(numbers, words, fc.constant('a')),
  }),
  fc.record({
    kind: fc.constantFrom('absentOrAtMost' as const, 'absentOrAbove' as const),
    attribute: fc.constantFrom('count', 'word', 'dueAtMs'),
    value: numbers,
  }),
);

function writeOf(
  key: Key,
  attributes: fc.Arbitrary<Record<string, Scalar>>,
  conditions: Condition[],
): fc.Arbitrary<Write> {
  const put = attributes.map((values): Write => ({ kind: 'put', item: { ...values, ...key }, conditions }));
  const update = fc
    .tuple(
      attributes,
      fc.subarray(['dueShard', 'dueAtMs', 'listSort', 'word', 'none']),
      fc.subarray(['count', 'settledAtMs']),
      numbers,
    )
    .map(([set, remove, increment, by]): Write => {
      const free = (name: string) => !(name in set);
      return {
        kind: 'update',
        key,
        // An update in a transaction must change something.
        set: { ...set, touched: by },
        remove: remove.filter(free),
        increment: Object.fromEntries(increment.filter(free).map((name) => [name, by])),
        conditions,
      };
    });
  return fc.oneof(put, update);
}
