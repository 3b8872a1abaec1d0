import type { OutsideRead } from '../process/outside-reads.js';

/** Expects that the code of a workflow has read nothing that is another at each replay. @throws Error that names each read */
export function expectNoReads(reads: readonly OutsideRead[]): void {
  if (reads.length === 0) return;
  const lines = reads.map(
    ({ what, place, instead }) => `${what}${place === undefined ? '' : ` at ${place}`}: use ${instead}`,
  );
  throw new Error(
    `the code of the workflow reads what is another at each replay:\n  ${[...new Set(lines)].join('\n  ')}\nA step may read it. { allowReads: true } skips this check.`,
  );
}
