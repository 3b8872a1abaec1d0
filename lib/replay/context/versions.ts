import type { JsonValue } from '../../base/json.js';
import { checkJsonBytes, jsonBytes } from '../../base/json-limit.js';
import type { WorkflowContext } from '../../workflow/context.js';
import { ContinueAsNew } from '../continue-as-new.js';
import { checkName, json } from './arguments.js';
import { handled } from './handled.js';
import { checkTurn, type ContextHost } from './host.js';

/** Creates `ctx.patched` and `ctx.continueAsNew`, with which a run outlives its code and its history. */
export function versions(host: ContextHost): Pick<WorkflowContext, 'patched' | 'continueAsNew'> {
  return {
    patched(patchId) {
      checkTurn(host, 'patched');
      checkName(patchId, 'the id of a patch');
      return host.derived.isPatched(patchId);
    },

    continueAsNew: handled(async (input?: JsonValue) => {
      checkTurn(host, 'continueAsNew');
      if (input === undefined) throw new ContinueAsNew(undefined);
      const next = json(input, 'the input of the next run');
      checkJsonBytes('the inputs of the next run are', jsonBytes(next));
      throw new ContinueAsNew(next);
    }),
  };
}
