import type { JsonValue } from '../../base/json.js';
import type { SignalOptions, WorkflowContext } from '../../workflow/context.js';
import type { Scope } from '../waits/scope.js';
import { checkName, timeoutOf } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';

/** `ctx.signal`. */
export function signals(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'signal'> {
  return {
    signal: handled(async (name: string, options: SignalOptions = {}) => {
      checkTurn(host, 'signal');
      checkName(name, 'the name of a signal');
      const timeout = timeoutOf(options.timeout, `the timeout of signal "${name}"`);
      let asked = '';
      const payload = host.waits.ask<JsonValue | undefined>(scope, (waitId) => {
        asked = waitId;
        return { kind: 'waitForSignal', waitId, name, ...timeout };
      });
      const { where } = options;
      host.signals.wait(name, {
        waitId: asked,
        accepts: where === undefined ? () => true : (value) => where(value ?? null),
      });
      return payload;
    }) as WorkflowContext['signal'],
  };
}
