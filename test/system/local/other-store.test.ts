import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { openStore } from '../../../lib/local/open-store.js';

test.each([
  [true, ['this folder also has runs of the other store, which are not shown']],
  [false, []],
])('a folder that has a database (%s) is opened in memory with a warning if so', async (hasDatabase, expected) => {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-store-'));
  const warnings: string[] = [];
  try {
    if (hasDatabase) await writeFile(join(folder, 'dynamodb.sqlite'), '');
    const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
    const store = await openStore({ folder, kind: 'memory', log, onLost: () => undefined });
    await store.close();
    expect(warnings).toEqual(expected);
  } finally {
    await rm(folder, { recursive: true });
  }
});
