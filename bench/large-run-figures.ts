import { MemoryTable } from '../lib/store/memory/memory-table.js';
import type { Table } from '../lib/store/table.js';
import { figure, medianFigure, type Figure } from './figure.js';
import { costOfResuming, costOfSteps, costOfWaits, type LargeRunCost } from './measure-large-runs.js';
import { repeat } from './statistics.js';
import type { Database } from './stores.js';

/** Steps that a turn has time for, so that a run of 10,000 takes 40 turns. */
const stepsPerTurn = 250;
const events = 5_000;

/**
 * Measures how the cost of a run grows with its size, in memory, and what it costs to continue a long run, on both
 * stores.
 */
export async function largeRunFigures(
  database: Database | undefined,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  progress('large runs');
  await costOfSteps(new MemoryTable(), 1_000, stepsPerTurn);
  for (const steps of [100, 1_000, 10_000]) {
    const costs = await repeat(3, () => costOfSteps(new MemoryTable(), steps, stepsPerTurn));
    figures.push(...perUnit(`turns.${steps}steps`, 'step', steps, costs));
  }
  for (const waits of [100, 1_000]) {
    const costs = await repeat(3, () => costOfWaits(new MemoryTable(), waits, { settled: 'oneByOne', memory: 'warm' }));
    figures.push(...perUnit(`waits.${waits}oneByOne`, 'wait', waits, costs));
  }
  // Without warm runs the reads grow with the square, so this measures fewer waits.
  for (const settled of ['oneByOne', 'together'] as const) {
    const costs = await repeat(3, () => costOfWaits(new MemoryTable(), 100, { settled, memory: 'cold' }));
    figures.push(...perUnit(`waits.100${settled}.cold`, 'wait', 100, costs));
  }

  progress('resuming a run');
  figures.push(...(await resumeFigures('memory', async () => new MemoryTable())));
  if (database !== undefined)
    figures.push(...(await resumeFigures('dynoxide', async () => (await database.openTable()).table)));
  return figures;
}

/** Returns figures per unit. The counted ones are the same in each of `costs`. */
function perUnit(name: string, unit: string, count: number, costs: readonly LargeRunCost[]): readonly Figure[] {
  const [first] = costs;
  if (first === undefined) return [];
  return [
    medianFigure(
      `${name}.ms`,
      costs.map(({ ms }) => ms / count),
      `ms per ${unit}`,
    ),
    figure(`${name}.writes`, first.writes / count, `requests per ${unit}`),
    figure(`${name}.reads`, first.reads / count, `requests per ${unit}`),
    figure(`${name}.itemsRead`, first.items / count, `items per ${unit}`),
    figure(`${name}.turns`, first.turns, 'turns'),
  ];
}

/** Alternates cold and warm, so that both run under the same load. */
async function resumeFigures(store: string, openTable: () => Promise<Table>): Promise<readonly Figure[]> {
  const pairs = await repeat(3, async () => ({
    cold: await costOfResuming(await openTable(), events, 'cold'),
    warm: await costOfResuming(await openTable(), events, 'warm'),
  }));
  return (['cold', 'warm'] as const).flatMap((memory) => {
    const costs = pairs.map((pair) => pair[memory]);
    const name = `resume.${store}.${events}events.${memory}`;
    const [first] = costs;
    if (first === undefined) return [];
    return [
      figure(`${name}.reads`, first.reads, 'requests'),
      figure(`${name}.itemsRead`, first.items, 'items'),
      figure(`${name}.bytesRead`, first.bytes, 'bytes'),
      medianFigure(
        `${name}.ms`,
        costs.map(({ ms }) => ms),
        'ms',
      ),
    ];
  });
}
