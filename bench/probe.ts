import { openDatabase } from './stores.js';
import { costOfRun } from './measure-requests.js';
import { MemoryTable } from '../lib/store/memory-table.js';
import { replayMs, sequentialHistory, sequentialSteps, parallelHistory, parallelSteps } from './measure-replay.js';
import { msPerStep, runsPerSecond } from './measure-steps.js';
import { wakeLatenciesMs } from './measure-wake.js';
import { percentile } from './statistics.js';
for (const n of [1000, 5000, 10000]) { const h = sequentialHistory(n); for (let i = 0; i < 3; i++) console.log('seq', n, await replayMs(sequentialSteps, h)); }
for (const n of [1000, 10000]) { const h = parallelHistory(n); for (let i = 0; i < 3; i++) console.log('par', n, await replayMs(parallelSteps, h)); }
for (const n of [100, 1000, 10000]) for (let i = 0; i < 3; i++) console.log('mem step', n, await msPerStep(new MemoryTable(), n));
for (let i = 0; i < 5; i++) console.log('mem runs/s', await runsPerSecond(new MemoryTable(), 200, 5));
{ const l = await wakeLatenciesMs(new MemoryTable(), 300); console.log('wake mem', percentile(l, .5), percentile(l, .99)); }
const d = await openDatabase();
{ const t = (await d.openTable()).table; 
for (const n of [100, 1000]) for (let i = 0; i < 2; i++) console.log('ddb step', n, await msPerStep(t, n));
console.log('ddb step 10000', await msPerStep(t, 10000));
for (let i = 0; i < 2; i++) console.log('ddb runs/s', await runsPerSecond(t, 200, 5));
{ const l = await wakeLatenciesMs(t, 300); console.log('wake ddb', percentile(l, .5), percentile(l, .99)); } }
for (const r of [{steps:3,polls:100}]) { console.time('t'); const c = await costOfRun(d, r); console.log(r, c.writes, c.reads); console.timeEnd('t'); }
await d.close();
