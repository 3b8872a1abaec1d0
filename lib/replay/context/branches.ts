import { hasCode } from '../../base/errors.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { Scope } from '../waits/scope.js';
import { invalid } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { sideBySide, type Branch } from './side-by-side.js';
import { some } from './some.js';

/** Default of `ctx.map`. */
const mapConcurrency = 16;

/** Creates `ctx.race`, `ctx.some` and `ctx.map`: concurrent parts of the workflow. */
export function branches(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'race' | 'some' | 'map'> {
  return {
    race: handled((all: readonly Branch<unknown>[]) => race(host, scope, all)) as WorkflowContext['race'],

    some: handled((needed: number, all: readonly Branch<unknown>[]) =>
      some(host, scope, needed, all),
    ) as WorkflowContext['some'],

    map: handled(
      async (
        items: readonly unknown[],
        fn: (item: unknown, index: number) => Promise<unknown>,
        options: { readonly concurrency?: number } = {},
      ) => {
        checkTurn(host, 'map');
        const concurrency = options.concurrency ?? mapConcurrency;
        if (!Number.isInteger(concurrency) || concurrency < 1)
          throw invalid(`the concurrency of a map must be a whole number of at least 1, got ${concurrency}`);
        return mapInOrder(items, fn, concurrency);
      },
    ) as WorkflowContext['map'],
  };
}

/** Returns or throws what the first branch does, and closes the others. Rules 1 drop what the others owe. */
async function race<Result>(host: ContextHost, scope: Scope, all: readonly Branch<Result>[]): Promise<Result> {
  const { waits } = host;
  checkTurn(host, 'race');
  if (all.length === 0) throw invalid('a race needs at least one branch');
  const { scopes, begin, close } = sideBySide(host, scope, all.length, 'another branch of the race was first');
  if (waits.isStructured) {
    const ends = all.map(async (branch, at) => begin(branch, at));
    let winner: Scope | undefined;
    for (const [at, end] of ends.entries())
      end.then(
        () => (winner ??= scopes[at]),
        () => (winner ??= scope),
      );
    return paidRace(ends, async () => {
      // Only for a branch that succeeded: one that failed may have requested it before the failure.
      if (winner !== undefined && winner !== scope) host.dropped.inRace(waits.openUnrecorded(winner));
      close();
      await waits.debts.paid(scope, scopes);
    });
  }
  try {
    return await Promise.race(all.map((branch, at) => begin(branch, at)));
  } finally {
    close();
  }
}

/** Returns or throws what the first branch does, once `close` has ended the others. */
async function paidRace<Result>(ends: readonly Promise<Result>[], close: () => Promise<void>): Promise<Result> {
  let notUndone: unknown;
  const first = await Promise.race(
    ends.map((end) =>
      end.then(
        (value) => ({ value }),
        (error: unknown) => {
          if (hasCode(error, 'COMPENSATION_FAILED')) notUndone ??= error;
          return { error };
        },
      ),
    ),
  );
  await close();
  if ('value' in first) return first.value;
  // After a cancel, which ends all branches, a failed compensation must be reported even if another branch ended first.
  throw hasCode(first.error, 'RUN_CANCELLED') ? (notUndone ?? first.error) : first.error;
}

/** Returns results in the order of the items. After a failure no further item is begun. */
async function mapInOrder<Item, Result>(
  items: readonly Item[],
  fn: (item: Item, index: number) => Promise<Result>,
  concurrency: number,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      try {
        results[index] = await fn(items[index] as Item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return results;
}
