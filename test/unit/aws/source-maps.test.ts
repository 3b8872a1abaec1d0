import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { bundle } from '../../../lib/bundle/bundle.js';
import { createLog } from '../../../lib/process/log.js';
import { mappedStack, placeOf } from '../../../lib/process/source-maps.js';

const folder = mkdtempSync(join(tmpdir(), 'outwait-maps-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

mkdirSync(join(folder, 'steps'));
writeFileSync(
  join(folder, 'steps', 'charge.ts'),
  '// A comment.\nexport function charge(given: string): never {\n  throw new RangeError(`no ${given}`);\n}\n',
);
writeFileSync(
  join(folder, 'outwait.config.ts'),
  "import { charge } from './steps/charge.js';\nimport { defineApp } from 'outwait';\nexport default { app: defineApp({ workflows: [] }), charge };\n",
);
const { app: file = '' } = await bundle({
  configFile: join(folder, 'outwait.config.ts'),
  outDir: join(folder, 'build'),
});

/** Returns the error with the stack that it has where nothing maps stacks: in a process of its own. */
function thrown(): Error {
  const program = `import(${JSON.stringify(pathToFileURL(file).href)}).then(({ default: { charge } }) => {
    try { charge('A-7'); } catch (error) { process.stdout.write(error.stack); }
  });`;
  return Object.assign(new RangeError('no A-7'), {
    stack: execFileSync(process.execPath, ['--eval', program], { encoding: 'utf8' }),
  });
}

it('the stack of a bundle has the places of the sources, from the folder of the configuration (F29, F31)', () => {
  const error = thrown();
  expect(error.stack).toContain('app.mjs:');
  const [first = ''] = /^\s+at .*$/m.exec(mappedStack(error.stack ?? '')) ?? [];
  expect(first).toMatch(/steps\/charge\.ts:3:9\)?$/);
  expect(first).not.toContain(folder);
  expect(placeOf(error)).toBe('steps/charge.ts:3:9');
});

it('a line of the log has the places of the sources', () => {
  const lines: string[] = [];
  createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } }).warn('failed', {
    error: thrown(),
  });
  expect(lines[0]).toContain('steps/charge.ts:3:9');
});

it('places without a map, and texts that are no stacks, stay as they are', () => {
  for (const text of ['Error: x\n    at f (/nowhere/index.mjs:1:2)', 'no stack', ''])
    expect(mappedStack(text)).toBe(text);
  expect(placeOf({ stack: 7 })).toBeUndefined();
  expect(placeOf(undefined)).toBeUndefined();
});
