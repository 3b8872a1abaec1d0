import type { JsonValue } from '../base/json.js';
import { printable, printableJson } from './printable.js';

// Rows, tables, times and values for a person. Text from outside goes through `printable` here.

export type Row = readonly [name: string, text: string];

const valueMaxChars = 400;

/** Returns names and texts, one pair per line. */
export function formatRows(rows: readonly Row[]): string {
  return rows.map(([name, text]) => `${name.padEnd(10)} ${printable(text)}`).join('\n');
}

/** Returns a table; the first row is the header. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Returns an ISO time, or `unknown` for an invalid one: a remote engine may send anything. */
export function time(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? 'unknown' : date.toISOString();
}

/** Returns JSON as one line, cut if it is long. */
export function value(given: JsonValue): string {
  const text = printableJson(given);
  return text.length <= valueMaxChars ? text : `${text.slice(0, valueMaxChars)}…`;
}
