// An MCP 2026-07-28 server on the official SDK. The SDK does the transport, header checks, discovery and the questions
// before a start; the tasks extension is not part of it and is implemented here.

import type { ServerContext } from '@modelcontextprotocol/server';
import { createMcpHandler, inputRequired, McpServer, ProtocolError } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { openWebServer } from '../../../examples/servers/web-server.js';

interface ReviewTask {
  readonly createdAt: string;
  status: 'input_required' | 'completed' | 'cancelled';
  approved?: boolean;
}

const tasks = new Map<string, ReviewTask>();
const approval = {
  mode: 'form' as const,
  message: 'Approve?',
  requestedSchema: { type: 'object' as const, properties: { ok: { type: 'boolean' as const } }, required: ['ok'] },
};
const textResult = (text: string) => ({ resultType: 'complete', content: [{ type: 'text', text }], isError: false });

function fields(taskId: string, { createdAt, status }: ReviewTask) {
  return { taskId, status, createdAt, lastUpdatedAt: createdAt, ttlMs: 3_600_000, pollIntervalMs: 1_000 };
}

function startReview() {
  const taskId = randomUUID();
  const task: ReviewTask = { createdAt: new Date().toISOString(), status: 'input_required' };
  tasks.set(taskId, task);
  return { resultType: 'task', ...fields(taskId, task) };
}

function callTool(name: string, args: { readonly who?: string }, { mcpReq }: ServerContext) {
  switch (name) {
    case 'greet':
      return textResult(`Hello, ${args.who ?? 'nobody'}!`);
    case 'review':
      return startReview();
    case 'release': {
      const confirm = mcpReq.inputResponses?.['confirm'];
      if (confirm === undefined)
        return inputRequired({ inputRequests: { confirm: inputRequired.elicit(approval) }, requestState: 'round-1' });
      return textResult(JSON.stringify(confirm));
    }
    default:
      throw new ProtocolError(-32602, `unknown tool "${name}"`);
  }
}

function find(taskId: string): ReviewTask {
  const task = tasks.get(taskId);
  if (task === undefined) throw new ProtocolError(-32602, 'unknown task');
  return task;
}

const taskParams = z.looseObject({ taskId: z.string() });

function mcp(): McpServer {
  const extensions = { 'io.modelcontextprotocol/tasks': {}, 'dev.outwait/dedupes': {} };
  const mcpServer = new McpServer({ name: 'reviews', version: '1.0.0' }, { capabilities: { tools: {}, extensions } });
  const { server } = mcpServer;
  const callParams = z.looseObject({ name: z.string(), arguments: z.looseObject({ who: z.string().optional() }) });
  server.setRequestHandler('tools/call', { params: callParams }, ({ name, arguments: args }, context) =>
    callTool(name, { ...(args.who === undefined ? {} : { who: args.who }) }, context),
  );
  server.setRequestHandler('tasks/get', { params: taskParams }, ({ taskId }) => {
    const task = find(taskId);
    const inputRequests = { approve: { method: 'elicitation/create', params: approval } };
    return {
      resultType: 'complete',
      ...fields(taskId, task),
      ...(task.status === 'input_required' ? { inputRequests } : {}),
      ...(task.status === 'completed' ? { result: textResult(`approved: ${String(task.approved)}`) } : {}),
    };
  });
  server.setRequestHandler('tasks/update', { params: taskParams }, ({ taskId }, { mcpReq }) => {
    const task = find(taskId);
    // The SDK removes the answers from the params.
    const answer = mcpReq.inputResponses?.['approve'] as { readonly content?: { readonly ok?: boolean } } | undefined;
    if (answer !== undefined && task.status === 'input_required') {
      task.status = 'completed';
      task.approved = answer.content?.ok === true;
    }
    return { resultType: 'complete' };
  });
  server.setRequestHandler('tasks/cancel', { params: taskParams }, ({ taskId }) => {
    const task = find(taskId);
    if (task.status === 'input_required') task.status = 'cancelled';
    return { resultType: 'complete' };
  });
  return mcpServer;
}

const handler = createMcpHandler(mcp, { legacy: 'reject' });
const web = await openWebServer(0, (request) => handler.fetch(request));
process.stdout.write(`${web.origin}/mcp\n`);
