import { RunCancelled } from '../../base/errors.js';
import type { ScopeHandle, WorkflowContext } from '../../workflow/context.js';
import { Scope } from '../waits/scope.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';

/** Creates `ctx.scope` and `ctx.shield`: parts of the workflow that are closed together, or not from outside. */
export function scopes(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'scope' | 'shield'> {
  const { waits } = host;
  return {
    scope: handled(async (body: (ctx: WorkflowContext, handle: ScopeHandle) => Promise<unknown>) => {
      checkTurn(host, 'scope');
      const inner = new Scope(scope);
      const cancel = (): void => {
        checkTurn(host, 'scope');
        waits.cancelScope(inner, cancelled('its scope was cancelled'));
      };
      if (!waits.isStructured) return body(host.contextOf(inner), { cancel });
      try {
        return await body(host.contextOf(inner), { cancel });
      } finally {
        if (inner.cancelledWith !== undefined) await waits.debts.paid(scope, [inner]);
      }
    }) as WorkflowContext['scope'],

    shield: handled(async (body: (ctx: WorkflowContext) => Promise<unknown>) => {
      checkTurn(host, 'shield');
      return owing(scope, () => body(host.contextOf(new Scope(scope, true))));
    }) as WorkflowContext['shield'],
  };
}

/** Runs `work`, which the scope and all scopes around it owe until it has ended. */
export function owing<Result>(scope: Scope, work: () => Promise<Result>): Promise<Result> {
  const paid = scope.owe();
  try {
    const ended = work();
    void Promise.resolve(ended).then(paid, paid);
    return ended;
  } catch (error) {
    paid();
    throw error;
  }
}

/** Creates the error with which waits of a closed scope are rejected. */
export function cancelled(why: string): RunCancelled {
  return new RunCancelled('RUN_CANCELLED', `this wait was closed: ${why}`);
}
