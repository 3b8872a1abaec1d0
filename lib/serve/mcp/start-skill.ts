import { callChainExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { callsMeta, keyMeta } from '../../base/mcp-meta.js';
import { nameProblem } from '../../base/name.js';
import { knownTraceparent } from '../../base/trace-context.js';
import type { ServedTask } from '../task/served-task.js';
import type { Call, Visit } from './call.js';
import { badRequest, invalidParams } from './errors.js';

export interface SkillCall {
  readonly skill: string;
  readonly args: JsonObject;
  /** Starts of the caller with the same key and arguments are one task. Default: the key of the request, if it has one. */
  readonly key?: string;
}

/** Starts a workflow. @throws EngineError as `Tasks.send`; McpError `-32602` for a key that is not one */
export async function startSkill(
  { skill, args, key: given }: SkillCall,
  call: Call,
  { tasks, endpoint }: Visit,
): Promise<ServedTask> {
  const { meta, headers } = call;
  const calls = meta[callsMeta];
  const metadata = calls === undefined ? undefined : { [callChainExtension]: calls };
  const message = { messageId: endpoint.newId(), role: 'user', ...defined({ metadata }) } as const;
  const inMeta = meta['traceparent'];
  const traceparent = knownTraceparent(typeof inMeta === 'string' ? inMeta : (headers.get('traceparent') ?? undefined));
  const more = defined({ key: given ?? keyOf(call), traceparent });
  if (skill !== endpoint.serve.onMessage)
    return tasks.send({ message: { ...message, parts: [] }, skill, arguments: args, ...more });
  const { text } = args;
  if (typeof text !== 'string') throw new EngineError('INPUT_INVALID', 'text must be a string');
  return tasks.send({ message: { ...message, parts: [{ text }] }, ...more });
}

/** Returns the key under which a repeated call is the same start; that of the header wins. @throws McpError `-32602` */
function keyOf({ headers, meta }: Call): string | undefined {
  const key = headers.get('idempotency-key') ?? meta[keyMeta];
  if (key === undefined) return undefined;
  const problem =
    typeof key !== 'string'
      ? 'must be a string'
      : !/^[\x20-\x7e]*$/.test(key)
        ? 'must be visible ASCII'
        : nameProblem(key, { maxBytes: idempotencyKeyMaxBytes });
  if (problem !== undefined) throw badRequest(invalidParams, `the idempotency key ${problem}`);
  return key as string;
}
