import { describe, expect, it } from 'vitest';
import { measureBundle } from '../../../bench/measure-bundles.js';

describe('the bundle of a function, for an app that uses no library', () => {
  it.each(['api', 'turn', 'step', 'poll', 'schedule', 'serve'])(
    'of %s has Lambda load less than 450 KB at once',
    async (name) => {
      const { atOnceBytes, allBytes } = await measureBundle(name);
      expect(atOnceBytes).toBeLessThan(450_000);
      expect(allBytes).toBeLessThan(1_500_000);
      // Fails if nothing was measured.
      expect(atOnceBytes).toBeGreaterThan(200_000);
    },
  );

  it('of poll stays under 950 KB with all that a call of a server loads, and the two protocols under 83 KB of it', async () => {
    const { withServerBytes, busyBytes, protocolBytes } = await measureBundle('poll');
    expect(withServerBytes).toBeLessThan(950_000);
    expect(busyBytes).toBeLessThan(950_000);
    expect(protocolBytes).toBeLessThan(83_000);
    expect(withServerBytes).toBeGreaterThan(500_000);
    expect(protocolBytes).toBeGreaterThan(20_000);
  });
});
