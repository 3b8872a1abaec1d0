import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../lib/base/log.js';
import { openJournaledTable } from '../../lib/store/memory/journal.js';
import { describeTable } from './table.suite.js';

describeTable('journaled table', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-journal-'));
  const { table, close } = await openJournaledTable({ file: join(folder, 'journal.jsonl'), log: silentLog });
  return {
    table,
    close: async () => {
      await close();
      await rm(folder, { recursive: true });
    },
  };
});
