import { functions } from '../lib/topology/topology.js';
import { figure, medianFigure, type Figure } from './figure.js';
import { type ColdStart, type MeasuredFunction, measureColdStarts } from './measure-cold-start.js';
import { percentile } from './statistics.js';

/** Starts per function and variant. The median of fewer varies with every other process on the machine. */
const starts = 11;

/**
 * Starts each function in new processes of `node`: with the SDK in the bundle, as deployed, and with the SDK outside.
 * The two alternate, because only figures measured in the same minutes can be compared.
 */
export async function coldStartFigures(
  node: string,
  version: string,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  progress(`cold starts on node ${version}`);
  const names = Object.keys(functions).filter((name) => name !== 'serve') as MeasuredFunction[];
  const measured = await measureColdStarts({ node, names, starts });
  return Object.entries(measured).flatMap(([name, { bundled, sdkOutside }]) => {
    const prefix = `cold.node${version.split('.')[0] ?? ''}.${name}`;
    const ratioOf = (part: (start: ColdStart) => number): number =>
      median(sdkOutside.map(part)) / median(bundled.map(part));
    return [
      medianFigure(
        `${prefix}.import`,
        bundled.map(({ importMs }) => importMs),
        'ms',
      ),
      medianFigure(
        `${prefix}.first-call`,
        bundled.map(({ firstCallMs }) => firstCallMs),
        'ms',
      ),
      medianFigure(`${prefix}.both`, bundled.map(totalMs), 'ms'),
      medianFigure(`${prefix}.sdk-outside`, sdkOutside.map(totalMs), 'ms'),
      figure(`${prefix}.ratio`, ratioOf(totalMs), 'times'),
      medianFigure(`${prefix}.cpu`, bundled.map(cpuOf), 'ms'),
      figure(`${prefix}.cpu-ratio`, ratioOf(cpuOf), 'times'),
    ];
  });
}

function totalMs({ importMs, firstCallMs }: ColdStart): number {
  return importMs + firstCallMs;
}

function cpuOf({ cpuMs }: ColdStart): number {
  return cpuMs;
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
