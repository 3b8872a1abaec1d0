import type { WorkflowContext } from '../../workflow/context.js';
import type { StepContext, StepOptions } from '../../workflow/step-options.js';
import type { Scope } from '../waits/scope.js';
import { checkName, invalid } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { stepPolicy } from './step-policy.js';

/** Creates `ctx.step`. */
export function steps(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'step'> {
  return {
    step: handled(async (name: string, work: (step: StepContext) => unknown, options: StepOptions = {}) => {
      checkTurn(host, 'step');
      checkName(name, 'the name of a step');
      if (typeof work !== 'function') throw invalid(`step "${name}" must be given a function`);
      const policy = stepPolicy(name, options);
      return host.waits.ask<unknown>(scope, (waitId) => ({ kind: 'runStep', waitId, name, work, policy }));
    }) as WorkflowContext['step'],
  };
}
