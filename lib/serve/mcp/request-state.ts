import { canonicalJson, type JsonObject } from '../../base/json.js';
import type { EpochMs } from '../../base/time.js';
import type { McpEndpoint } from './call.js';
import { badRequest, invalidParams } from './errors.js';
import { requestStateMaxMs } from './limits.js';

/** The call of a tool, as far as a repeat of it must be the same. */
export interface CalledTool {
  readonly name: string;
  readonly args: JsonObject;
}

/**
 * Returns what a client gives back with its answers, so that they reach the run that asks. It is good for this call only,
 * and the caller must own the run besides.
 */
export function requestState(taskId: string, tool: CalledTool, { clock, seal }: McpEndpoint): string {
  const untilMs = clock.nowMs() + requestStateMaxMs;
  return `${taskId}.${untilMs}.${seal(sealed(taskId, untilMs, tool))}`;
}

/** Returns the id of the task that a state is about. @throws McpError `-32602` for one that was not made for this call */
export function taskOfState(given: unknown, tool: CalledTool, { clock, seal }: McpEndpoint): string {
  const [, taskId = '', until = '', mac] = /^([^.]{1,64})\.(\d{1,15})\.([^.]{1,128})$/.exec(String(given)) ?? [];
  // A digest with a key: its comparison tells nothing that could be used.
  if (typeof given === 'string' && mac === seal(sealed(taskId, Number(until), tool)) && Number(until) > clock.nowMs())
    return taskId;
  throw badRequest(invalidParams, 'requestState was not made for this call, or is too old');
}

function sealed(taskId: string, untilMs: EpochMs, { name, args }: CalledTool): string {
  return `mcp state\n${taskId}\n${untilMs}\n${name}\n${canonicalJson(args)}`;
}
