import { beforeAll, expect, test } from 'vitest';
import { printCase } from '../shrink.js';
import { runCase, servedCaseOf } from '../simulate-case.js';
import type { ServedCounts } from './served-oracles.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const count = Number(process.env['SIM_SEEDS'] ?? 40);

/** Kinds of violations by the property that they break. */
const properties = {
  'terminal immutability: a task that has ended never changes again': [
    ...['final-task-changed', 'task-changed-after-end', 'commit-after-end', 'commit-after-ending'],
    ...['ended-run-revived', 'went-on-after-end'],
  ],
  'generation: each change of a task has the next one, for every reader': [
    ...['next-run-at-another-generation', 'state-not-of-log', 'stale-read', 'read-from-the-future', 'told-otherwise'],
  ],
  'snapshot then tail: a follower is told each later change once and in order, from any replica': [
    ...['change-told-twice', 'change-left-out', 'stale-snapshot', 'stream-without-snapshot', 'snapshot-in-stream'],
    ...['stream-ended-early', 'tail-with-gap', 'tail-cut-off', 'watcher-fails'],
  ],
} as const;

/** What was broken, by kind, with the first case that did. */
const broken = new Map<string, string>();
const counts: ServedCounts = { finals: 0, followed: 0, resumed: 0 };

beforeAll(async () => {
  for (let seed = first; seed < first + count; seed++) {
    const given = servedCaseOf(seed);
    const { violations, served } = await runCase(given);
    for (const name of ['finals', 'followed', 'resumed'] as const) counts[name] += served?.counts[name] ?? 0;
    for (const [kind, detail] of violations)
      if (!broken.has(kind))
        broken.set(
          kind,
          `${kind}: ${detail}\n${printCase(given)}\n\nsmaller: npm run simulate -- --served --seeds 1 --first ${seed}`,
        );
  }
}, 600_000);

const text = (isMeant: (kind: string) => boolean): string =>
  [...broken].flatMap(([kind, detail]) => (isMeant(kind) ? [detail] : [])).join('\n\n');

test.each(Object.entries(properties))('%s', (_, kinds) => {
  expect(text((kind) => (kinds as readonly string[]).includes(kind))).toBe('');
});

test('served workflows break no other promise to their callers, whatever happens', () => {
  const named = new Set<string>(Object.values(properties).flat());
  expect(text((kind) => !named.has(kind))).toBe('');
});

test('the cases have tasks that are read after their end, and followers that come back', () => {
  for (const [what, number] of Object.entries(counts)) expect(number, what).toBeGreaterThan(count);
});
