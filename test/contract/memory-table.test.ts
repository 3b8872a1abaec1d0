import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { describeTable } from './table.suite.js';

describeTable('memory table', async () => ({ table: new MemoryTable(), close: async () => undefined }));
