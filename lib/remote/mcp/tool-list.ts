// The list of a server's tools, as far as calls need it. Pure.

import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { headerParamsOf, type HeaderParams } from './param-headers.js';

export interface ListedTool {
  readonly name: string;
  readonly headers: HeaderParams;
  /** MCP 2025-11-25: whether a call may, or must, be made as a task. */
  readonly taskSupport: 'required' | 'optional' | 'forbidden';
}

export interface ToolPage {
  readonly tools: readonly ListedTool[];
  readonly nextCursor?: string;
  readonly ttlMs?: number;
}

/** Reads one page of `tools/list`; returns undefined if it is not one. Tools that cannot be read are left out. */
export function readToolPage(result: JsonValue): ToolPage | undefined {
  if (!isJsonObject(result) || !Array.isArray(result['tools'])) return undefined;
  const { nextCursor, ttlMs } = result;
  return {
    tools: (result['tools'] as readonly JsonValue[]).filter(isNamed).map(readTool),
    ...defined({
      nextCursor: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined,
      ttlMs: typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : undefined,
    }),
  };
}

type Named = JsonObject & { readonly name: string };

function isNamed(tool: JsonValue): tool is Named {
  return isJsonObject(tool) && typeof tool['name'] === 'string';
}

function readTool(tool: Named): ListedTool {
  const { taskSupport } = isJsonObject(tool['execution']) ? tool['execution'] : {};
  return {
    name: tool.name,
    headers: headerParamsOf(tool['inputSchema']),
    taskSupport: taskSupport === 'required' || taskSupport === 'optional' ? taskSupport : 'forbidden',
  };
}
