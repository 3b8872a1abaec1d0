import { percentile } from './statistics.js';

/** A measured or counted number. */
export interface Figure {
  /** Stable name, for programs that read the JSON. */
  readonly name: string;
  /** The count, or the median if there is a range. */
  readonly value: number;
  /** Lowest and highest of several runs of one measurement: the machine at its best and at its worst. */
  readonly range?: { readonly lowest: number; readonly highest: number };
  readonly unit: string;
  readonly aim?: Aim;
}

export type Aim = { readonly atMost: number } | { readonly atLeast: number };

export function figure(name: string, value: number, unit: string, aim?: Aim): Figure {
  return { name, value, unit, ...(aim === undefined ? {} : { aim }) };
}

/** Returns the median of several runs, with their range. */
export function medianFigure(name: string, runs: readonly number[], unit: string, aim?: Aim): Figure {
  const range = { lowest: Math.min(...runs), highest: Math.max(...runs) };
  return { ...figure(name, percentile(runs, 0.5), unit, aim), range };
}

/** Returns whether the figure meets its aim, or undefined if it has none. */
export function isMet({ value, aim }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  return 'atMost' in aim ? value <= aim.atMost : value >= aim.atLeast;
}
