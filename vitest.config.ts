import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { mutation } from './test/simulation/mutants/apply.js';
import { shownSinks } from './test/support/outputs/sinks.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Name of a mutant of the engine to load in its place, for `npm run mutants`. */
const mutant = process.env['MUTANT'] ?? '';

export default defineConfig({
  plugins: [...(mutant === '' ? [] : [mutation(mutant)]), shownSinks()],
  resolve: {
    alias: {
      'outwait/testing': at('./lib/testing.ts'),
      'outwait/cdk': at('./cdk/index.ts'),
      outwait: at('./lib/index.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    setupFiles: ['test/support/outputs/listen.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // As many as there are processors; by default it is one less. The longest tests wait for processes of their own.
    maxWorkers: availableParallelism(),
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
  },
});
