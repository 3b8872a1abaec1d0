import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { measureBundle } from '../../../bench/measure-bundles.js';
import { trims } from '../../../lib/bundle/trims.js';

const packages = new URL('../../../node_modules/', import.meta.url);
const whole = await measureBundle('turn');

describe.each(trims)('the trim $name', (trim) => {
  it.each(trim.reliesOn)('finds %s in the installed package', (file) => {
    // npm may install a dependency of a package beside it or inside it.
    const owner = trim.reliesOn[0]?.split('/')[0] ?? '';
    const places = [file, `${owner}/node_modules/${file}`].map((place) => fileURLToPath(new URL(place, packages)));
    expect(places.some((place) => existsSync(place))).toBe(true);
  });

  it('saves what its row says, to a tenth', async () => {
    const without = await measureBundle(
      'turn',
      trims.filter((other) => other !== trim),
    );
    const { atOnceBytes, allBytes } = trim.saves;
    expectAbout(without.atOnceBytes - whole.atOnceBytes, atOnceBytes);
    expectAbout(without.allBytes - whole.allBytes, allBytes);
    expect(Math.max(atOnceBytes, allBytes)).toBeGreaterThan(2_000);
  });
});

function expectAbout(bytes: number, said: number): void {
  expect(Math.abs(bytes - said), `${bytes} bytes instead of ${said}`).toBeLessThanOrEqual(Math.abs(said) / 10);
}
