import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { trimPlugin } from '../../../lib/bundle/trim-plugins.js';
import { trims } from '../../../lib/bundle/trims.js';
import { createLog } from '../../../lib/process/log.js';

type CreateLog = typeof createLog;

const lib = fileURLToPath(new URL('../../../lib', import.meta.url));

it('writes the same lines with the parts of pino that a bundle has as with the whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-pino-'));
  try {
    const outfile = join(folder, 'log.cjs');
    await build({
      entryPoints: [join(lib, 'process', 'log.ts')],
      bundle: true,
      outfile,
      format: 'cjs',
      platform: 'node',
      plugins: [
        trimPlugin(
          trims.find(({ name }) => name === 'pino-parts')!,
          lib,
        ),
      ],
    });
    const bundled = (await import(outfile)) as { readonly createLog: CreateLog };
    expect(linesOf(bundled.createLog)).toEqual(linesOf(createLog));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

function linesOf(create: CreateLog): readonly string[] {
  const lines: string[] = [];
  const log = create({
    level: 'info',
    destination: { write: (line) => void lines.push(line.replace(/"time":"[^"]*"/, '"time":"now"')) },
  });
  log.debug('left out');
  log.info('swept', { wakes: 2, big: 10n, 'a "name"': ['\u2028', '\ud800', null, undefined, NaN], none: undefined });
  log.warn('100 %s %d%', { method: 'GET', url: 'https://example.com' });
  log.error('failed', { err: Object.assign(new Error('odd'), { stack: 'at a place' }) });
  expect(lines).toHaveLength(3);
  return lines;
}
