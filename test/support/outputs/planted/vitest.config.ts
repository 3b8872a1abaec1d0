// Runs planted leaks under the same set-up as all tests.

import type { ViteUserConfig } from 'vitest/config';
import all from '../../../../vitest.config.js';

const config: ViteUserConfig = {
  ...all,
  test: { ...all.test, include: ['test/support/outputs/planted/*.planted.ts'] },
};
export default config;
