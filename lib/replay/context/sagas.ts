import { EngineError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { described } from '../../base/thrown.js';
import type { Saga, WorkflowContext } from '../../workflow/context.js';
import { ContinueAsNew } from '../continue-as-new.js';
import { Scope } from '../waits/scope.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { owing } from './scopes.js';

/** Creates `ctx.saga`. */
export function sagas(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'saga'> {
  return {
    saga: handled(async (body: (saga: Saga) => Promise<unknown>) => {
      checkTurn(host, 'saga');
      const ended = owing(scope, () => runSaga(body, host.contextOf(new Scope(scope, true))));
      ended.catch((error: unknown) => {
        if (error instanceof EngineError && error.code === 'COMPENSATION_FAILED') host.ending.notUndone(error);
      });
      return ended;
    }) as WorkflowContext['saga'],
  };
}

/** Runs a saga. Its compensations are shielded steps, run in reverse order; a failed one does not stop the others. */
async function runSaga(body: (saga: Saga) => Promise<unknown>, shielded: WorkflowContext): Promise<unknown> {
  const compensations: Parameters<Saga['compensate']>[] = [];
  try {
    return await body({ compensate: (...compensation) => void compensations.push(compensation) });
  } catch (error) {
    // Continuing as a new run is not a failure.
    if (error instanceof ContinueAsNew) throw error;
    const failed: string[] = [];
    const errors: JsonObject[] = [];
    for (const [name, work, options] of compensations.reverse()) {
      await shielded.step(name, work, options).catch((reason: unknown) => {
        failed.push(name);
        errors.push({ compensation: name, ...described(reason) });
        // Logged, since nothing may be awaiting the saga any longer.
        shielded.log.warn('compensation failed', { name, error: reason });
      });
    }
    if (failed.length === 0) throw error;
    throw new EngineError('COMPENSATION_FAILED', `compensations failed: ${failed.join(', ')}`, {
      cause: error,
      details: { failed, errors, cause: described(error) },
    });
  }
}
