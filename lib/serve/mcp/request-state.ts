import { canonicalJson, type JsonObject } from '../../base/json.js';
import type { McpEndpoint } from './call.js';
import { badRequest, invalidParams } from './errors.js';
import { requestStateMaxMs } from './limits.js';

/** The call of a tool, as far as a repeat of it must be the same. */
export interface CalledTool {
  readonly name: string;
  readonly args: JsonObject;
}

/** What a repeated call goes on with. */
export interface RequestState {
  readonly taskId: string;
  /** Keys of the questions that were asked: an answer is for none that came later under the same name. */
  readonly asked: readonly string[];
}

/**
 * Returns what a client gives back with its answers, so that they reach the questions of the run. It is good for this call
 * only, and the caller must own the run besides.
 */
export function requestState({ taskId, asked }: RequestState, tool: CalledTool, { clock, seal }: McpEndpoint): string {
  const text = [taskId, clock.nowMs() + requestStateMaxMs, ...asked.map((key) => key.slice(taskId.length + 1))].join(
    '.',
  );
  return `${text}.${seal(sealed(text, tool))}`;
}

/** Reads what was given back. @throws McpError `-32602` unless it was made for this call, or if it is too old */
export function stateIn(given: unknown, tool: CalledTool, { clock, seal }: McpEndpoint): RequestState {
  const [, text = '', mac] = /^(.{1,1024})\.([^.]{1,128})$/s.exec(typeof given === 'string' ? given : '') ?? [];
  const [taskId = '', untilMs, ...asked] = text.split('.');
  // A digest with a key: its comparison tells nothing that could be used.
  if (mac === seal(sealed(text, tool)) && Number(untilMs) > clock.nowMs())
    return { taskId, asked: asked.map((end) => `${taskId}-${end}`) };
  throw badRequest(invalidParams, 'requestState was not made for this call, or is too old');
}

function sealed(text: string, { name, args }: CalledTool): string {
  return `mcp state\n${text}\n${name}\n${canonicalJson(args)}`;
}
