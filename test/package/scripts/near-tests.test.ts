import { describe, expect, it } from 'vitest';
import { importsIn, nearTests } from '../../../scripts/near-tests.js';

describe('the tests near to what has changed', () => {
  const imports = new Map([
    ['lib/a.ts', []],
    ['lib/b.ts', ['lib/a.ts']],
    ['lib/c.ts', ['lib/b.ts']],
    ['test/unit/a.test.ts', ['lib/a.ts']],
    ['test/unit/b.test.ts', ['lib/b.ts']],
    ['test/unit/c.test.ts', ['lib/c.ts']],
    ['test/system/a.test.ts', ['lib/a.ts']],
  ]);
  const bounds = { stepsMax: 2, filesMax: 30 };

  it('are those that import it over few files, the nearest first', () => {
    expect(nearTests(imports, ['lib/a.ts'], bounds)).toEqual({
      near: ['test/unit/a.test.ts', 'test/unit/b.test.ts'],
      furtherCount: 1,
    });
    expect(nearTests(imports, ['lib/a.ts'], { stepsMax: 3, filesMax: 1 })).toEqual({
      near: ['test/unit/a.test.ts'],
      furtherCount: 2,
    });
  });

  it('are itself where a test has changed, also one that takes long', () => {
    expect(nearTests(imports, ['test/system/a.test.ts'], bounds).near).toEqual(['test/system/a.test.ts']);
  });

  it('know imports at once, late, for their effect alone, and by the names of the package', () => {
    const text =
      "import a from './a.js';\nimport '../b.js';\nawait import('./c/d.js');\nexport { e } from 'outwait/testing';\nimport 'vitest';";
    expect(importsIn('lib/x/y.ts', text)).toEqual(['lib/x/a.ts', 'lib/b.ts', 'lib/x/c/d.ts', 'lib/testing.ts']);
  });
});
