import { hasCode, readable, toStoredError, TooFewSucceeded } from '../../base/errors.js';
import { ContinueAsNew } from '../continue-as-new.js';
import type { Scope } from '../waits/scope.js';
import { invalid } from './arguments.js';
import { checkTurn, type ContextHost } from './host.js';
import { sideBySide, type Branch } from './side-by-side.js';

interface Succeeded {
  readonly index: number;
  readonly value: unknown;
}

interface Failed {
  readonly index: number;
  readonly error: unknown;
}

/** Implements `ctx.some`: returns the first `needed` results, then closes the other branches like those of a race. */
export async function some(
  host: ContextHost,
  scope: Scope,
  needed: number,
  all: readonly Branch<unknown>[],
): Promise<readonly Succeeded[]> {
  checkTurn(host, 'some');
  if (!Number.isInteger(needed) || needed < 1 || needed > all.length)
    throw invalid(`ctx.some needs a whole number from 1 to the ${all.length} branches given, got ${needed}`);
  const { waits, dropped } = host;
  const branches = sideBySide(host, scope, all.length, 'other branches of ctx.some have decided its result');
  const ends = all.map(async (branch, at) => branches.begin(branch, at));
  /** Failures in the order of their arrival; at the end also those of closed branches. */
  const failures: Failed[] = [];
  const decided = await decision(ends, needed, failures);
  // A branch that succeeded may have requested work without awaiting it.
  if ('results' in decided)
    for (const { index } of decided.results) dropped.inRace(waits.openUnrecorded(branches.scopes[index]));
  branches.close();
  if (waits.isStructured) await waits.debts.paid(scope, branches.scopes);
  if ('results' in decided) return decided.results;
  const { error } = decided;
  // After a cancel, which ends all branches, a failed compensation must be reported.
  throw hasCode(error, 'RUN_CANCELLED') ? (notUndone(failures) ?? error) : error;
}

/** Resolves when `needed` branches have succeeded, or too few still can, or one continues as a new run. */
function decision(
  ends: readonly Promise<unknown>[],
  needed: number,
  failures: Failed[],
): Promise<{ readonly results: readonly Succeeded[] } | { readonly error: unknown }> {
  return new Promise((decide) => {
    const results: Succeeded[] = [];
    for (const [index, end] of ends.entries())
      end.then(
        (value) => {
          results.push({ index, value });
          if (results.length === needed) decide({ results: [...results] });
        },
        (thrown: unknown) => {
          const error = readable(thrown);
          failures.push({ index, error });
          if (error instanceof ContinueAsNew) decide({ error });
          else if (failures.length === ends.length - needed + 1)
            decide({ error: failureOf(needed, ends.length, failures) });
        },
      );
  });
}

function notUndone(failures: readonly Failed[]): unknown {
  return failures.find(({ error }) => hasCode(error, 'COMPENSATION_FAILED'))?.error;
}

/** Returns the cancel that ended a branch, if any, so that the run counts as cancelled; otherwise TooFewSucceeded. */
function failureOf(needed: number, of: number, failed: readonly Failed[]): unknown {
  const cancel = failed.find(({ error }) => hasCode(error, 'RUN_CANCELLED'));
  if (cancel !== undefined) return cancel.error;
  const inOrder = failed.toSorted((a, b) => a.index - b.index);
  const failures = inOrder.map(({ index, error }) => {
    const { code, message } = toStoredError(error, 'WORKFLOW_FAILED');
    return { index, code, message };
  });
  const message = `ctx.some needs ${needed} results, and ${failed.length} of ${of} branches failed`;
  const errors = inOrder.map(({ error }) => error);
  return new TooFewSucceeded('TOO_FEW_SUCCEEDED', message, { errors, details: { needed, failures } });
}
