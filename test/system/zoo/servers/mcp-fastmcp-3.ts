// FastMCP 3.4.11, revision 2025-11-25 with its tasks, recorded on 2026-11-30.
//
// Each read returns the same `ttl`, however old the task is.

import { mcpServer } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const mcpFastmcp3: ZooAnimal = {
  name: 'mcp-fastmcp-3',
  title: 'FastMCP 3',
  version: '3.4.11',
  recordedOn: '2026-11-30',
  entry: (origin) => mcpServer({ url: `${origin}/mcp` }),
  options: ["protocolVersion: '2025-11-25'"],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'completed', text: "Error calling tool 'fail': no stock", isError: true },
    'late-fail': { kind: 'completed', text: 'no stock', isError: true },
  },
};
