// A message as the engine takes it: which skill it names, and with what arguments. Pure.

import { sequenceExtension, idempotentSendExtension } from '../../base/a2a-extensions.js';
import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { isJsonObject, type JsonObject } from '../../base/json.js';
import type { TaskMessage } from '../task/served-task.js';
import type { NewPushConfig } from '../push-configs.js';
import type { SendRequest } from '../tasks.js';
import type { Call } from './call.js';
import type { SendOperation } from './operation.js';
import { givenNumber } from './params.js';

/** A message as it came, in the form of both revisions. */
export interface CameMessage {
  readonly message: TaskMessage;
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  readonly metadata: JsonObject | undefined;
  readonly ifGenerationMatch: number | undefined;
  readonly push: NewPushConfig | undefined;
  readonly returnImmediately: boolean;
  readonly historyLength: number;
}

/**
 * Returns what a message asks for.
 * @throws EngineError `INPUT_INVALID` if it names a skill with arguments that are not an object
 */
export function sendOperation(came: CameMessage, isStreamed: boolean, call: Call): SendOperation {
  const { taskId, contextId, metadata, push, returnImmediately, historyLength } = came;
  const message = withoutGeneration(came.message);
  // A message to a task is content alone, whatever its data look like.
  const named = taskId === undefined ? skillNamedBy(message, call.skill) : {};
  const request: SendRequest = {
    message,
    ...named,
    ...defined({
      taskId,
      contextId,
      metadata,
      push,
      key: taskId === undefined ? keyOf(message, call) : undefined,
      ifGenerationMatch: generationIn(came, call),
      traceparent: call.traceparent,
    }),
  };
  return {
    kind: 'send',
    request,
    until: isStreamed ? 'streamed' : returnImmediately ? 'accepted' : 'rests',
    historyLength,
  };
}

/** A client that activates the extension but sends no key means the id of the message. */
function keyOf({ messageId }: TaskMessage, { idempotencyKey, extensions }: Call): string | undefined {
  return idempotencyKey ?? (extensions.has(idempotentSendExtension) ? messageId : undefined);
}

/** Removes the generation from a message: another attempt to send the same message may name a later one. */
function withoutGeneration({ metadata, ...message }: TaskMessage): TaskMessage {
  const { [sequenceExtension]: _, ...others } = metadata ?? {};
  return { ...message, ...defined({ metadata: Object.keys(others).length === 0 ? undefined : others }) };
}

function generationIn({ message, ifGenerationMatch }: CameMessage, { extensions }: Call): number | undefined {
  if (!extensions.has(sequenceExtension)) return undefined;
  const inMessage = message.metadata?.[sequenceExtension];
  const asked = isJsonObject(inMessage) ? inMessage['ifGenerationMatch'] : undefined;
  if (asked === undefined) return ifGenerationMatch;
  const number = typeof asked === 'number' || typeof asked === 'string' ? givenNumber(asked) : undefined;
  if (number === undefined || !Number.isSafeInteger(number) || number < 0)
    throw new EngineError('INPUT_INVALID', 'ifGenerationMatch must be a whole number');
  return number;
}

type Named = Pick<SendRequest, 'skill' | 'arguments'>;

/** A message names a skill by its only data part. At the endpoint of a skill, that part may be the arguments alone. */
function skillNamedBy({ parts }: TaskMessage, endpoint: string | undefined): Named {
  const data = parts.flatMap((part) => ('data' in part ? [part.data] : []));
  const [only] = data;
  const named = data.length === 1 ? envelopeIn(only) : undefined;
  if (named?.skill !== undefined) return { skill: named.skill, arguments: named.arguments ?? {} };
  if (endpoint === undefined) return {};
  if (data.length === 0) return { skill: endpoint };
  if (data.length > 1) throw new EngineError('INPUT_INVALID', 'the arguments of a skill must be one data part');
  if (named !== undefined) return { skill: endpoint, ...defined({ arguments: named.arguments }) };
  if (!isJsonObject(only)) throw new EngineError('INPUT_INVALID', 'the arguments of a skill must be an object');
  return { skill: endpoint, arguments: only };
}

/** Reads `{ skill, arguments }`, or either alone; undefined for data with any other member. */
function envelopeIn(data: unknown): Named | undefined {
  if (!isJsonObject(data)) return undefined;
  const { skill, arguments: given, ...others } = data;
  if (Object.keys(others).length > 0 || (skill === undefined && given === undefined)) return undefined;
  if (skill !== undefined && typeof skill !== 'string') return undefined;
  if (given !== undefined && !isJsonObject(given)) {
    if (skill === undefined) return undefined;
    throw new EngineError('INPUT_INVALID', 'arguments must be an object');
  }
  return defined({ skill, arguments: given });
}
