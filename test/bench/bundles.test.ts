import { expect, it } from 'vitest';
import { measureBundle } from '../../bench/measure-bundles.js';

it('the bundle of the poll function stays under 950 KB with undici, and the two protocols under 80 KB of it', async () => {
  const { withUndiciBytes, protocolBytes } = await measureBundle('poll');
  expect(withUndiciBytes).toBeLessThan(950_000);
  expect(protocolBytes).toBeLessThan(80_000);
  // Something was measured.
  expect(withUndiciBytes).toBeGreaterThan(300_000);
  expect(protocolBytes).toBeGreaterThan(20_000);
});
