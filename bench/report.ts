import { unitsOf, type Usage } from './capacity.js';
import type { Figure } from './figure.js';
import type { Machine, Versions } from './machine.js';

/** What `npm run bench -- --json` prints. */
export interface Report {
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly versions: Versions;
  readonly figures: readonly (Figure & { readonly met?: boolean })[];
  readonly writesByMethod: Readonly<Record<string, Readonly<Record<string, Usage>>>>;
}

/** The report as tables of text. */
export function formatReport({ measuredAt, machine, versions, figures, writesByMethod }: Report): string {
  const rows = figures.map(({ name, value, unit, aim, met }) => [
    name,
    formatValue(value),
    unit,
    aim === undefined ? '' : `${'atMost' in aim ? '<=' : '>='} ${Object.values(aim).join()}`,
    met === undefined ? '' : met ? 'met' : 'NOT MET',
  ]);
  return [
    `${measuredAt}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}, load before ${formatValue(machine.loadBefore)}`,
    `outwait ${versions.outwait}, node ${versions.node}, AWS SDK ${versions.awsSdk}, dynoxide ${versions.dynoxide}`,
    '',
    formatTable(['figure', 'value', 'unit', 'aim', ''], rows),
    ...Object.entries(writesByMethod).flatMap(([run, writes]) => [
      '',
      formatTable(
        [`writes, ${run}`, 'requests', 'units', 'of them indexes'],
        Object.entries(writes).map(([method, usage]) => [
          method,
          String(usage.requests),
          String(unitsOf(usage)),
          String(usage.indexUnits),
        ]),
      ),
    ]),
  ].join('\n');
}

function formatValue(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
