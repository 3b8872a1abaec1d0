// An MCP server on the official SDK, as a process of its own, with a tool that answers at once.

import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { openWebServer } from '../../examples/servers/web-server.js';
import { answerMemory } from './served-process.js';

function mcp(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('waits', { inputSchema: z.object({}) }, () => ({ content: [{ type: 'text', text: 'done' }] }));
  return server;
}

const handler = createMcpHandler(mcp, { legacy: 'reject' });
const { origin } = await openWebServer(0, (request) => handler.fetch(request));
answerMemory();
process.send?.({ url: origin });
