import { hasCode } from '../../base/errors.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import { defined } from '../../base/defined.js';
import type { RunId } from '../../base/ids.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { AnyWorkflow } from '../../workflow/define-workflow.js';
import type { RunStartOptions } from '../../workflow/run-start-options.js';
import type { RunDeed, StepPolicy } from '../command.js';
import type { Scope } from '../waits/scope.js';
import { checkName, json, toMs } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { stepPolicy } from './step-policy.js';

/** Trouble that passes: the request is repeated for about a day. */
const passing = ['STORE_UNAVAILABLE', 'STORE_RESULT_UNKNOWN', 'TOO_MANY_REQUESTS', 'TENANT_LIMIT_REACHED'] as const;
const attempts = 1_440;
const stepNameMaxChars = 128;

/** Creates `ctx.startRun` and `ctx.signalRun`. Both are steps of the engine's own, each with a key, so repeats are one. */
export function runs(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'startRun' | 'signalRun'> {
  const ask = (deedName: string, deed: RunDeed): Promise<unknown> => {
    const name = deedName.slice(0, stepNameMaxChars);
    const policy = policyOf(name);
    return host.waits.ask<unknown>(scope, (waitId) => ({
      ...{ kind: 'runStep', waitId, name, policy, deed },
      work: () => undefined,
    }));
  };
  return {
    startRun: handled(async (workflow: AnyWorkflow, input: unknown, options: RunStartOptions = {}) => {
      checkTurn(host, 'startRun');
      const what = `the input of run "${workflow.name}"`;
      const given = input === undefined ? undefined : json(input, what);
      if (given !== undefined) checkJsonBytes(`${what} is`, jsonBytes(given));
      const { delay, timeout, ...more } = options;
      return ask(`startRun ${workflow.name}`, {
        kind: 'startRun',
        workflow: workflow.name,
        input: given,
        options: {
          ...more,
          ...defined({
            delayMs: delay === undefined ? undefined : toMs(delay, 'the delay of a run'),
            timeoutMs: timeout === undefined ? undefined : toMs(timeout, 'the timeout of a run'),
          }),
        },
      });
    }) as WorkflowContext['startRun'],
    signalRun: handled(async (runId: RunId, name: string, payload?: unknown) => {
      checkTurn(host, 'signalRun');
      checkName(name, 'the name of a signal');
      const given = payload === undefined ? undefined : json(payload, `the payload of signal "${name}"`);
      return ask(`signalRun ${name}`, { kind: 'signalRun', runId, name, ...defined({ payload: given }) });
    }) as WorkflowContext['signalRun'],
  };
}

function policyOf(name: string): StepPolicy {
  return {
    ...stepPolicy(name, { retry: { maxAttempts: attempts, maxInterval: { minutes: 1 } } }),
    isRetryable: (error) => passing.some((code) => hasCode(error, code)),
  };
}
