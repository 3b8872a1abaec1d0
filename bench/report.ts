import { unitsOf, type Usage } from './capacity.js';
import type { Figure } from './figure.js';
import type { Machine, Versions } from './machine.js';

/** The output of `npm run bench -- --json`. */
export interface Report {
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly versions: Versions;
  readonly figures: readonly (Figure & { readonly met?: boolean })[];
  readonly writesByMethod: Readonly<Record<string, Readonly<Record<string, Usage>>>>;
}

/** Formats the report as Markdown that is also readable in a terminal; docs/performance.md holds a copy. */
export function formatReport({ measuredAt, machine, versions, figures, writesByMethod }: Report): string {
  const rows = figures.map(({ name, value, range, unit, aim, met }) => [
    name,
    formatValue(value),
    range === undefined ? '' : `${formatValue(range.lowest)} to ${formatValue(range.highest)}`,
    unit,
    aim === undefined ? '' : `${'atMost' in aim ? '<=' : '>='} ${Object.values(aim).join()}`,
    met === undefined ? '' : met ? 'yes' : 'no',
  ]);
  return [
    `${measuredAt}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}, load before ${formatValue(machine.loadBefore)}`,
    `outwait ${versions.outwait}, node ${versions.node}, AWS SDK ${versions.awsSdk}, dynoxide ${versions.dynoxide ?? 'none'}`,
    '',
    formatTable(['figure', 'value', 'lowest to highest', 'unit', 'aim', 'met'], rows),
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
  const widths = head.map((title, column) => Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
