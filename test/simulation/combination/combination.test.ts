import { expect, test } from 'vitest';
import { printCase } from './shrink.js';
import { caseOf, runCase } from './simulate-case.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const count = Number(process.env['SIM_SEEDS'] ?? 600);
/** Seeds per test: small groups, so that a failing seed is easy to find. */
const part = 100;

test.each(Array.from({ length: Math.ceil(count / part) }, (_, at) => first + at * part))(
  'random workflows, callers and faults break no promise, seeds from %i',
  { timeout: 600_000 },
  async (from) => {
    for (let seed = from; seed < Math.min(from + part, first + count); seed++) {
      const given = caseOf(seed);
      const { violations } = await runCase(given);
      const broken = [...violations].map(([kind, detail]) => `${kind}: ${detail}`).join('\n');
      expect(broken, `${printCase(given)}\n\nsmaller: npm run simulate -- --seeds 1 --first ${seed}`).toBe('');
    }
  },
);
