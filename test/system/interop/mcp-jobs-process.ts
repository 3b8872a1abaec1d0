// A server without tasks on the official SDK, with three plain tools for a job, as many servers have them. The SDK
// implements MCP: discovery, lists, checks of arguments, results and errors of tools, 2026-07-28 and 2025-11-25.

import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { openWebServer } from '../../../examples/servers/web-server.js';

interface ExportJob {
  /** The end of the job, after its first status read. */
  readonly how: 'well' | 'badly' | 'never';
  reads: number;
  isCancelled: boolean;
}

const jobs = new Map<string, ExportJob>();

function find(id: string): ExportJob {
  const job = jobs.get(id);
  if (job === undefined) throw new Error(`no such job: ${id}`);
  return job;
}

function tell(job: ExportJob): object {
  if (job.isCancelled) return { status: 'cancelled' };
  if (job.how === 'never' || job.reads++ === 0) return { status: 'running', message: 'counting rows' };
  if (job.how === 'badly') return { status: 'failed', message: 'no stock' };
  return { status: 'done', result: { rows: 3 } };
}

const said = (value: object) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const byId = z.object({ job_id: z.string() });

function mcp(): McpServer {
  const server = new McpServer({ name: 'exports', version: '1.0.0' });
  server.registerTool(
    'start_export',
    { inputSchema: z.object({ how: z.enum(['well', 'badly', 'never']) }) },
    ({ how }) => {
      const id = randomUUID();
      jobs.set(id, { how, reads: 0, isCancelled: false });
      return said({ job_id: id, status: 'ok' });
    },
  );
  server.registerTool('export_status', { inputSchema: byId }, ({ job_id: id }) => said(tell(find(id))));
  server.registerTool('cancel_export', { inputSchema: byId }, ({ job_id: id }) => {
    find(id).isCancelled = true;
    return said({ ok: true });
  });
  server.registerTool('count_jobs', { inputSchema: z.object({}) }, () => said({ jobs: jobs.size }));
  return server;
}

const handler = createMcpHandler(mcp);
const web = await openWebServer(0, (request) => handler.fetch(request));
process.stdout.write(`${web.origin}/mcp\n`);
