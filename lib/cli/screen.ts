import { styleText } from 'node:util';
import type { EpochMs } from '../base/time.js';

/** What a command prints to. */
export interface Screen {
  /**
   * Columns of a terminal. Undefined for a file or a pipe: nothing is wrapped or cut to fit, and times are absolute, so
   * that programs can read it.
   */
  readonly width?: number | undefined;
  readonly hasColor: boolean;
  /** Times on a terminal are relative to this. */
  readonly nowMs: EpochMs;
}

/** A file or a pipe. */
export const paper: Screen = { hasColor: false, nowMs: 0 };

const widthDefault = 80;

/**
 * Returns what a stream is. `NO_COLOR` (not empty) wins over `FORCE_COLOR`, which colours a pipe too unless it is empty, `0` or
 * `false`; a terminal has colour unless `TERM` is `dumb`.
 */
export function screenOf(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  environment: Readonly<Record<string, string | undefined>>,
  nowMs: EpochMs,
): Screen {
  const isTerminal = stream.isTTY === true;
  // Some pseudo-terminals say 0.
  const columns = stream.columns === undefined || stream.columns === 0 ? widthDefault : stream.columns;
  return { width: isTerminal ? columns : undefined, hasColor: hasColor(isTerminal, environment), nowMs };
}

function hasColor(
  isTerminal: boolean,
  { NO_COLOR: no, FORCE_COLOR: force, TERM: terminal }: Readonly<Record<string, string | undefined>>,
): boolean {
  if (no !== undefined && no !== '') return false;
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  return isTerminal && terminal !== 'dumb';
}

const styles = {
  head: 'bold',
  faint: 'dim',
  good: 'green',
  bad: 'red',
  held: 'yellow',
  busy: 'cyan',
} as const;
export type Style = keyof typeof styles;

// Styles are marked by characters that no text holds (Unicode noncharacters), and become escape sequences only after
// control characters were taken out of everything: text from outside can never write to the terminal.
const markBegin = 0xfdd0;
const names = Object.keys(styles) as Style[];
const markEnd = String.fromCharCode(markBegin + names.length);

/** Marks a text with a style, for `paint`, if there is colour. */
export function styled(style: Style, text: string, { hasColor: colored }: Pick<Screen, 'hasColor'>): string {
  return text === '' || !colored ? text : String.fromCharCode(markBegin + names.indexOf(style)) + text + markEnd;
}

/** Replaces marks of `styled` by escape sequences, or takes them out where there is no colour. */
export function paint(text: string, { hasColor: colored }: Pick<Screen, 'hasColor'>): string {
  return text.replace(/([\ufdd0-\ufdd5])([^\ufdd0-\ufdd6]*)\ufdd6/g, (_, mark: string, inner: string) => {
    const name = names[mark.charCodeAt(0) - markBegin];
    // The decision was made above, for `--no-color` too.
    return colored && name !== undefined ? styleText(styles[name], inner, { validateStream: false }) : inner;
  });
}
