import { expect, test } from 'vitest';
import { printCase } from '../shrink.js';
import { runCase, servedCaseOf } from '../simulate-case.js';

const first = Number(process.env['SIM_FIRST'] ?? 1);
const count = Number(process.env['SIM_SEEDS'] ?? 60);
/** Seeds per test. */
const part = 30;

test.each(Array.from({ length: Math.ceil(count / part) }, (_, at) => first + at * part))(
  'served workflows break no promise to their callers, whatever happens, seeds from %i',
  { timeout: 600_000 },
  async (from) => {
    for (let seed = from; seed < Math.min(from + part, first + count); seed++) {
      const given = servedCaseOf(seed);
      const { violations } = await runCase(given);
      const broken = [...violations].map(([kind, detail]) => `${kind}: ${detail}`).join('\n');
      expect(broken, `${printCase(given)}\n\nsmaller: npm run simulate -- --served --seeds 1 --first ${seed}`).toBe('');
    }
  },
);
