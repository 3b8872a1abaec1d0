// The MCP SDK for Python, 1.30.0, revision 2025-11-25 with its tasks, recorded on 2026-11-30.
//
// `tasks/result` of a failed task contains only `_meta`. All replies are event streams.

import { mcpServer } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const mcpPython1: ZooAnimal = {
  name: 'mcp-python-1',
  title: 'MCP SDK for Python 1',
  version: '1.30.0',
  recordedOn: '2026-11-30',
  entry: (origin) => mcpServer({ url: `${origin}/mcp` }),
  options: ["protocolVersion: '2025-11-25'"],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'completed', text: 'no stock', isError: true },
    'late-fail': { kind: 'failed', reason: 'no stock' },
  },
};
