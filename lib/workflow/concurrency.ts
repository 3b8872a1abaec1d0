import { EngineError } from '../base/errors.js';

/** What happens to a start if a run with the same concurrency key is under way, or waits. */
export type WhenBusy = 'queue' | 'replace' | 'refuse';

const policies: readonly unknown[] = ['queue', 'replace', 'refuse', undefined] satisfies (WhenBusy | undefined)[];

/** Which runs of a workflow must not be under way at the same time. */
export interface Concurrency<Input = unknown> {
  /**
   * Returns the concurrency key of a run, 1 to 255 bytes: at most one run of the workflow with that key is under way
   * at a time. Undefined: the run is not limited. Called once at the start, with the input as the workflow sees it; must
   * depend on nothing else.
   */
  readonly key: (input: Input) => string | undefined;
  /**
   * Default `queue`: the run waits until all runs with its key that were accepted before have ended, and then begins.
   * `replace`: the same, and they are cancelled: the newest run wins. `refuse`: the start is refused with
   * `CONCURRENCY_KEY_BUSY`.
   */
  readonly whenBusy?: WhenBusy;
}

/** @throws EngineError `CONFIG_INVALID` */
export function checkConcurrency<Input>(
  workflow: string,
  concurrency: Concurrency<Input> | undefined,
): Concurrency<Input> | undefined {
  if (concurrency === undefined) return undefined;
  const { key, whenBusy } = concurrency;
  if (typeof key !== 'function' || !policies.includes(whenBusy))
    throw new EngineError(
      'CONFIG_INVALID',
      `workflow "${workflow}": concurrency must be { key: (input) => string, whenBusy?: ${policies.slice(0, 3).join(' | ')} }`,
    );
  return concurrency;
}
