import { MemoryTable } from '../lib/store/memory-table.js';
import { msPerStep } from './measure-steps.js';
for (let i = 0; i < 6; i++) { const c = process.cpuUsage(); const m = await msPerStep(new MemoryTable(), 10000); const u = process.cpuUsage(c); console.log('mem step', m, 'cpu', (u.user + u.system) / 1e7); }
