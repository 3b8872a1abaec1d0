import { MemoryTable } from '../lib/store/memory/memory-table.js';
import type { Table } from '../lib/store/table.js';
import { figure, medianFigure, type Aim, type Figure } from './figure.js';
import { bodyRatios } from './measure-bodies.js';
import { parallelHistory, parallelSteps, replayMs, sequentialHistory, sequentialSteps } from './measure-replay.js';
import { msPerPut, msPerStep, runsPerSecond } from './measure-steps.js';
import { wakeLatenciesMs } from './measure-wake.js';
import { percentile, repeat } from './statistics.js';
import { openJournal, storeNames, type Database, type StoreName } from './stores.js';

const aims = {
  replayed10kEvents: { atMost: 50 },
  body: { atMost: 3 },
  parsedBody: { atMost: 2 },
  step: { memory: { atMost: 0.1 }, journal: undefined, dynoxide: { atMost: 1.5 } },
  runs: { memory: { atLeast: 1_000 }, journal: undefined, dynoxide: undefined },
  wake: { atMost: 10 },
} satisfies {
  replayed10kEvents: Aim;
  body: Aim;
  parsedBody: Aim;
  step: Record<StoreName, Aim | undefined>;
  runs: Record<StoreName, Aim | undefined>;
  wake: Aim;
};

/** Measures times on the real clock; on dynoxide too if there is a database. */
export async function timeFigures(
  database: Database | undefined,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  progress('replay');
  const figures: Figure[] = [...(await replayFigures())];
  progress('bodies');
  for (const { name, toRows, toItself } of bodyRatios()) {
    const aim = toItself === undefined ? aims.body : undefined;
    figures.push(medianFigure(`bodies.${name}.4MiB`, toRows, 'times one JSON.parse of rows', aim));
    if (toItself !== undefined)
      figures.push(medianFigure(`bodies.${name}.toItself`, toItself, 'times one JSON.parse of it', aims.parsedBody));
  }
  const journals: (() => Promise<void>)[] = [];
  try {
    for (const store of storeNames) {
      const openTable = tablesOf(store, database, journals);
      if (openTable !== undefined) figures.push(...(await storeFigures(store, openTable, progress)));
    }
  } finally {
    for (const close of journals) await close();
  }
  return figures;
}

async function storeFigures(
  store: StoreName,
  openTable: () => Promise<Table>,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  progress(`steps on ${store}`);
  await msPerStep(await openTable(), 500);
  if (store !== 'memory') {
    const table = await openTable();
    figures.push(medianFigure(`put.${store}`, await repeat(5, () => msPerPut(table, 500)), 'ms per conditional put'));
  }
  figures.push(...(await stepFigures(store, openTable)));
  progress(`runs on ${store}`);
  await runsPerSecond(await openTable(), 200, 5);
  const runs = await repeat(store === 'memory' ? 9 : 3, async () => runsPerSecond(await openTable(), 200, 5));
  figures.push(medianFigure(`runs.${store}.200runsOf5steps`, runs, 'runs per second', aims.runs[store]));
  progress(`wakes on ${store}`);
  figures.push(...(await wakeFigures(store, openTable)));
  return figures;
}

function tablesOf(
  store: StoreName,
  database: Database | undefined,
  journals: (() => Promise<void>)[],
): (() => Promise<Table>) | undefined {
  switch (store) {
    case 'memory':
      return async () => new MemoryTable();
    case 'journal':
      return async () => {
        const { table, close } = await openJournal();
        journals.push(close);
        return table;
      };
    case 'dynoxide':
      return database === undefined ? undefined : async () => (await database.openTable()).table;
  }
}

async function replayFigures(): Promise<readonly Figure[]> {
  for (let run = 0; run < 5; run++) await replayMs(sequentialSteps, sequentialHistory(10_000));
  const figures: Figure[] = [];
  for (const events of [1_000, 5_000, 10_000]) {
    const history = sequentialHistory(events);
    const ms = await repeat(9, () => replayMs(sequentialSteps, history));
    figures.push(
      medianFigure(
        `replay.sequential.${events}events`,
        ms,
        'ms',
        events === 10_000 ? aims.replayed10kEvents : undefined,
      ),
    );
  }
  const history = parallelHistory(10_000);
  figures.push(
    medianFigure('replay.parallel.10000events', await repeat(9, () => replayMs(parallelSteps, history)), 'ms'),
  );
  return figures;
}

async function stepFigures(store: StoreName, openTable: () => Promise<Table>): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const steps of [100, 1_000, 10_000]) {
    const table = await openTable();
    const times = steps < 10_000 ? 5 : 3;
    const ms = await repeat(times, () => msPerStep(table, steps));
    figures.push(medianFigure(`step.${store}.${steps}steps`, ms, 'ms per step', aims.step[store]));
  }
  return figures;
}

async function wakeFigures(store: StoreName, openTable: () => Promise<Table>): Promise<readonly Figure[]> {
  await wakeLatenciesMs(await openTable(), 50);
  const latenciesMs = await wakeLatenciesMs(await openTable(), 500);
  return [
    figure(`wake.${store}.p50of500`, percentile(latenciesMs, 0.5), 'ms', aims.wake),
    figure(`wake.${store}.p99of500`, percentile(latenciesMs, 0.99), 'ms', aims.wake),
  ];
}
