import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RemoteResultInvalid } from '../base/errors.js';
import type { JsonObject, JsonValue } from '../base/json.js';
import { remoteTimeoutDefaultMs } from '../base/limits.js';
import { issuePath } from '../base/schema-issue.js';
import type { Duration } from '../base/time.js';
import type { RemoteCall } from '../workflow/context.js';
import type { RemoteRequest } from '../workflow/remote-request.js';
import { invalid, json, text, toMs } from './arguments.js';

export function toRequest(call: RemoteCall): RemoteRequest {
  text(call.server, 'the name of a server');
  const { tool, skill, message } = call as { tool?: unknown; skill?: unknown; message?: { parts?: unknown } };
  const given = [tool, skill, message].filter((field) => field !== undefined).length;
  if (given !== 1) throw invalid(`callRemoteTask needs exactly one of tool, skill and message, got ${given}`);
  if ('tool' in call && tool !== undefined) {
    return { kind: 'tool', tool: text(tool, 'tool'), arguments: json(call.arguments ?? {}, 'arguments') as JsonObject };
  }
  if ('skill' in call && skill !== undefined) {
    return { kind: 'skill', skill: text(skill, 'skill'), arguments: json(call.arguments ?? {}, 'arguments') };
  }
  const parts = json(message?.parts, 'message.parts');
  if (!Array.isArray(parts) || parts.length === 0) throw invalid('message.parts must be a list of at least one part');
  return { kind: 'message', parts: parts as readonly JsonObject[] };
}

export function nameOf(request: RemoteRequest): string {
  switch (request.kind) {
    case 'tool':
      return request.tool;
    case 'skill':
      return request.skill;
    case 'message':
      return 'message';
  }
}

export function argumentsOf(request: RemoteRequest): JsonValue {
  return request.kind === 'message' ? request.parts : request.arguments;
}

/** Whole seconds, at least one: no remote side can be held to less. */
export function remoteTimeoutMs(timeout: Duration | undefined): number {
  if (timeout === undefined) return remoteTimeoutDefaultMs;
  return Math.max(1, Math.ceil(toMs(timeout, 'the timeout of a remote call') / 1000)) * 1000;
}

export async function checkResult(schema: StandardSchemaV1, server: string, result: JsonValue): Promise<void> {
  const { issues } = await schema['~standard'].validate(result);
  if (issues === undefined) return;
  const list = issues.map((issue) => `${issuePath(issue)}: ${issue.message}`).join('; ');
  throw new RemoteResultInvalid(
    'REMOTE_RESULT_INVALID',
    `the result of the remote task on "${server}" does not fit its schema: ${list}`,
    { details: { server, result } },
  );
}
