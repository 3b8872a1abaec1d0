/** Returns the value that `share` of all values are at or below, by nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error('no values');
  return value;
}

/** Runs a measurement `times` times, one after the other. Warm up before, since the first run of any code is slow. */
export async function repeat<Value>(times: number, measure: () => Promise<Value>): Promise<readonly Value[]> {
  const values: Value[] = [];
  for (let run = 0; run < times; run++) values.push(await measure());
  return values;
}
