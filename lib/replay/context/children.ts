import { canonicalJson, type JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import type { ChildOptions, WorkflowContext } from '../../workflow/context.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import type { Scope } from '../waits/scope.js';
import { json, timeoutOf } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';

/** Creates `ctx.child`. */
export function children(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'child'> {
  return {
    child: handled(async (workflow: AnyWorkflow, input: unknown, options: ChildOptions = {}) => {
      checkTurn(host, 'child');
      const given = input === undefined ? undefined : childInput(workflow, input);
      const timeout = timeoutOf(options.timeout, `the timeout of child "${workflow.name}"`);
      const digest = host.digest(`child ${workflow.name}\n${given === undefined ? '' : canonicalJson(given)}`);
      return host.waits.ask<unknown>(scope, (waitId) => ({
        kind: 'startChild',
        waitId,
        workflow: workflow.name,
        input: given,
        digest,
        // Derived from the seed, which is secret: the child's id may be a task id.
        childRunId: host.digest(`child ${host.seed} ${waitId}`).slice(0, 32),
        parentClose: options.parentClose ?? 'cancel',
        ...timeout,
      }));
    }) as WorkflowContext['child'],
  };
}

function childInput(workflow: AnyWorkflow, input: unknown): JsonValue {
  const given = json(input, `the input of child "${workflow.name}"`);
  checkJsonBytes(`the input of child "${workflow.name}" is`, jsonBytes(given));
  return given;
}
