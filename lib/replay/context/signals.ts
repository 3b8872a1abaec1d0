import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonValue } from '../../base/json.js';
import { validate } from '../../base/validate.js';
import type { WorkflowContext } from '../../workflow/context.js';
import type { Parsed, SignalOptions } from '../../workflow/external-wait.js';
import type { Scope } from '../waits/scope.js';
import { checkName, invalid, timeoutOf } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';
import { parsed } from './parsed.js';

/** Creates `ctx.signal`. */
export function signals(host: ContextHost, scope: Scope): Pick<WorkflowContext, 'signal'> {
  return {
    signal: handled(async (name: string, options: AnySignalOptions = {}) => {
      checkTurn(host, 'signal');
      checkName(name, 'the name of a signal');
      const timeout = timeoutOf(options.timeout, `the timeout of signal "${name}"`);
      let asked = '';
      const payload = host.waits.ask<JsonValue | undefined>(scope, (waitId) => {
        asked = waitId;
        return { kind: 'waitForSignal', waitId, name, ...timeout };
      });
      const { where, schema } = options;
      host.signals.wait(name, {
        waitId: asked,
        accepts: where === undefined ? () => true : (value) => accepts(where, schema, value ?? null),
      });
      if (schema === undefined) return payload;
      return parsed(schema, (await payload) ?? null, `the payload of signal "${name}"`);
    }) as WorkflowContext['signal'],
  };
}

type AnySignalOptions = Omit<SignalOptions, 'where'> & Partial<Parsed<unknown>> & { readonly where?: Where };
type Where = (payload: unknown) => boolean;

/** Returns true if a wait takes a signal. It also takes a payload that does not fit the schema, and then fails. */
function accepts(where: Where, schema: StandardSchemaV1 | undefined, payload: JsonValue): boolean {
  if (schema === undefined) return where(payload);
  const validated = validate(schema, payload);
  if (validated instanceof Promise) throw invalid('a schema must be synchronous if `where` selects signals');
  return !validated.isValid || where(validated.value);
}
