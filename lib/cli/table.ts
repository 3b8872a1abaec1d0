import stringWidth from 'string-width';
import type { JsonValue } from '../base/json.js';
import { printable, printableJson } from './printable.js';
import { paper, type Screen, type Style, styled } from './screen.js';

// Rows, tables and values for a person. Text from outside goes through `printable` here.

export type Row = readonly [name: string, text: string, style?: Style];

const nameWidth = 10;
const valueMaxChars = 400;
/** A column that may be cut stays at least this wide. */
const cutMin = 8;
const gap = '  ';

/** Returns names and texts, one pair per line; on a terminal, long texts continue below. */
export function formatRows(rows: readonly Row[], screen: Screen): string {
  return rows
    .flatMap(([name, text, style]) => {
      const label = pad(name, nameWidth);
      const indent = stringWidth(label) + 1;
      const shown = printable(text);
      const lines = screen.width === undefined ? [shown] : wrap(shown, screen.width - indent);
      return lines.map((line, at) => {
        const value = style === undefined ? line : styled(style, line, screen);
        const before = at === 0 ? styled('faint', name, screen) + label.slice(name.length) : ' '.repeat(indent - 1);
        return `${before} ${value}`.trimEnd();
      });
    })
    .join('\n');
}

/** A cell of a table, or one with a style. */
export type Cell = string | { readonly text: string; readonly style: Style };

/** A table whose first row is the header. */
export interface TableOptions {
  /** Headings of the columns that may be cut to fit a terminal. Ids and what is typed again are not among them. */
  readonly cut?: readonly string[];
}

/**
 * Returns a table; the first row is the header. On a terminal that is too narrow for it, columns are cut that may be,
 * and if that is not enough, each row becomes a block of lines.
 */
export function formatTable(
  rows: readonly (readonly Cell[])[],
  screen: Screen,
  { cut = [] }: TableOptions = {},
): string {
  const cells = rows.map((row) =>
    row.map((cell) =>
      typeof cell === 'string' ? { text: printable(cell), style: undefined } : { ...cell, text: printable(cell.text) },
    ),
  );
  const [header = [], ...body] = cells;
  const natural = header.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column]?.text ?? ''))));
  const widths = fit(
    natural,
    header.map(({ text }) => cut.includes(text)),
    screen.width,
  );
  if (widths === undefined)
    return formatBlocks(
      header.map(({ text }) => text),
      body,
      screen,
    );
  return cells
    .map((row, at) =>
      row
        .map(({ text, style }, column) => {
          const shown = cutTo(text, widths[column] ?? 0);
          const padded = column === row.length - 1 ? shown : pad(shown, widths[column] ?? 0);
          const used = at === 0 ? 'head' : style;
          return used === undefined ? padded : styled(used, shown, screen) + padded.slice(shown.length);
        })
        .join(gap)
        .trimEnd(),
    )
    .join('\n');
}

/** Returns the widths of the columns; undefined if they do not fit. */
function fit(
  natural: readonly number[],
  mayCut: readonly boolean[],
  width: number | undefined,
): readonly number[] | undefined {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, each) => sum + each, gap.length * (widths.length - 1));
  if (width === undefined) return widths;
  while (total() > width) {
    const widest = widths.reduce<number | undefined>(
      (best, each, column) =>
        mayCut[column] === true && each > cutMin && (best === undefined || each > (widths[best] ?? 0)) ? column : best,
      undefined,
    );
    if (widest === undefined) return undefined;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

interface StyledText {
  readonly text: string;
  readonly style: Style | undefined;
}

function formatBlocks(header: readonly string[], body: readonly (readonly StyledText[])[], screen: Screen): string {
  const blocks = body.map((row) =>
    formatRows(
      row.flatMap(({ text, style }, column): readonly Row[] => {
        const name = (header[column] ?? '').toLowerCase();
        return text === '' ? [] : [style === undefined ? [name, text] : [name, text, style]];
      }),
      screen,
    ),
  );
  return blocks.join('\n\n');
}

/** Breaks a text between words; a word that is longer than a line stays whole, so that it can be copied. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && stringWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

function cutTo(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let shown = '';
  for (const character of text) {
    if (stringWidth(shown + character) > width - 1) break;
    shown += character;
  }
  return `${shown}…`;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** Returns JSON as one line, cut if it is long; on a terminal with spaces, where it can be wrapped. */
export function value(given: JsonValue, screen: Screen = paper): string {
  const text = screen.width === undefined ? printableJson(given) : spaced(given);
  return text.length <= valueMaxChars ? text : `${text.slice(0, valueMaxChars)}…`;
}

/** JSON text has no line breaks but those of its indentation. */
function spaced(given: JsonValue): string {
  return printable(JSON.stringify(given, undefined, 1).replace(/\n */g, ' '));
}
