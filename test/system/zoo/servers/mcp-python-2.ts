// The MCP SDK for Python, 2.3.0, revision 2026-07-28 without tasks, recorded on 2026-11-30.
//
// A tool answers when its work is done. The reason of a failure is not sent.

import { mcpServer } from '../../../../lib/workflow/app.js';
import type { ZooAnimal } from '../animal.js';

export const mcpPython2: ZooAnimal = {
  name: 'mcp-python-2',
  title: 'MCP SDK for Python 2',
  version: '2.3.0',
  recordedOn: '2026-11-30',
  entry: (origin) => mcpServer({ url: `${origin}/mcp` }),
  options: [],
  ends: {
    quick: { kind: 'completed', text: 'three rows' },
    slow: { kind: 'completed', text: 'three rows' },
    fail: { kind: 'completed', text: 'Error executing tool fail', isError: true },
  },
};
