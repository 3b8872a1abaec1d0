import { defined } from '../base/defined.js';
import type { RunInfo } from '../workflow/run-info.js';
import { invalid } from './context/arguments.js';
import type { RunFacts } from './run-facts.js';

/** Idempotency keys of the remote calls of one execution, by the promise that the author received. */
export type CallKeys = WeakMap<object, () => string | undefined>;

/** Creates `ctx.info`, frozen because all scopes share it. */
export function runInfo({ runId, workflow, start }: RunFacts, callKeys: CallKeys): RunInfo {
  const { version, id, key, tags, owner, tenant, parent, previousRunId } = start;
  const by = parent && Object.freeze({ runId: parent.runId, ...defined({ workflow: parent.workflow }) });
  return Object.freeze({
    runId,
    workflow: workflow.name,
    version,
    ...defined({ id, key }),
    tags: Object.freeze({ ...tags }),
    ...defined({ owner, tenant, parent: by, previousRunId }),
    idempotencyKeyOf(call) {
      const keyOf = callKeys.get(call);
      if (keyOf === undefined) throw invalid('idempotencyKeyOf needs the promise that ctx.callRemoteTask returned');
      return keyOf();
    },
  } satisfies RunInfo);
}
