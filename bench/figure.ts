/** One measured or counted number. */
export interface Figure {
  /** Stable, for whoever reads the JSON. */
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly aim?: Aim;
}

export type Aim = { readonly atMost: number } | { readonly atLeast: number };

export function figure(name: string, value: number, unit: string, aim?: Aim): Figure {
  return { name, value, unit, ...(aim === undefined ? {} : { aim }) };
}

/** Undefined without an aim. */
export function isMet({ value, aim }: Figure): boolean | undefined {
  if (aim === undefined) return undefined;
  return 'atMost' in aim ? value <= aim.atMost : value >= aim.atLeast;
}
