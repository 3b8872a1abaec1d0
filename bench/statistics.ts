/** The value that `share` of all values are at or below, by nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error('no values');
  return value;
}

/** The median over `times` runs of `measure`, after one run that only warms up. */
export async function medianOf(times: number, measure: () => Promise<number>): Promise<number> {
  await measure();
  const values: number[] = [];
  for (let run = 0; run < times; run++) values.push(await measure());
  return percentile(values, 0.5);
}
