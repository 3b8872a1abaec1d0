// FastMCP 4.1.4 with fastmcp-tasks 4.1.4, revision 2026-07-28 with the tasks extension, recorded on 2026-11-30.
//
// A tool decides by itself whether it runs as a task.

import { mcpServer } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const mcpFastmcp4: ZooAnimal = {
  name: 'mcp-fastmcp-4',
  title: 'FastMCP 4',
  version: '4.1.4',
  recordedOn: '2026-11-30',
  entry: (origin) => mcpServer({ url: `${origin}/mcp` }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    cancel: { kind: 'cancelled' },
    fail: { kind: 'completed', text: "Error calling tool 'fail': no stock", isError: true },
    'late-fail': { kind: 'completed', text: "Error calling tool 'late-fail': no stock", isError: true },
  },
};
