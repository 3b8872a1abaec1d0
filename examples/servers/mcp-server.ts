import type { ServerContext } from '@modelcontextprotocol/server';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  MissingRequiredClientCapabilityError,
  originValidationResponse,
  ProtocolError,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { RemoteServer, RemoteServerOptions, RemoteStats } from './remote-server.js';
import { runAsProgram, workOf } from './remote-server.js';
import { openWebServer } from './web-server.js';

// An MCP server of revision 2026-07-28 whose only tool answers with a task. The official SDK does the transport and
// checks header and envelope; the tasks extension is not part of it and is implemented here, with its state in memory.

const tasksExtension = 'io.modelcontextprotocol/tasks';
const idempotencyMeta = 'dev.outwait/idempotencyKey';
const invalidParams = -32602;
/** An error code outside the range that JSON-RPC reserves. */
const keyReused = 40901;
const ttlMs = 3_600_000;
const pollIntervalMs = 2_000;

export interface McpServerOptions extends RemoteServerOptions {
  /** Whether a start with a known key returns the task that it started before. Default: true. */
  readonly dedupe?: boolean;
}

/** A tool result: the part of a completed task that `tasks/get` returns. */
interface ToolResult {
  readonly resultType: 'complete';
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

interface ExportTask {
  readonly taskId: string;
  readonly month: string;
  readonly createdAt: string;
  readonly stop: AbortController;
  status: 'working' | 'completed' | 'cancelled';
  lastUpdatedAt: string;
}

const exportArguments = z.object({ month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/) });

/** Starts the server on 127.0.0.1. Its tool `start_export` takes `{ month: "YYYY-MM" }`. */
export async function startMcpServer(options: McpServerOptions = {}): Promise<RemoteServer> {
  const { port = 0, dedupe = true, beforeReply = () => 'ok' } = options;
  const work = workOf(options);
  const tasks = new Map<string, ExportTask>();
  const taskByKey = new Map<string, ExportTask>();
  const startCalls: { readonly key?: string }[] = [];
  let reads = 0;
  let cancels = 0;

  function startExport(month: string): ExportTask {
    const now = new Date().toISOString();
    const task: ExportTask = {
      taskId: randomUUID(),
      month,
      createdAt: now,
      stop: new AbortController(),
      status: 'working',
      lastUpdatedAt: now,
    };
    tasks.set(task.taskId, task);
    void work(task.stop.signal).then(
      () => {
        end(task, 'completed');
      },
      // The work was cut off by a cancel, which has ended the task, or by the end of the server.
      () => undefined,
    );
    return task;
  }

  function callTool(name: string, args: unknown, context: ServerContext): ExportTask {
    if (name !== 'start_export') throw new ProtocolError(invalidParams, `unknown tool "${name}"`);
    requireTasks(context);
    const parsed = exportArguments.safeParse(args);
    if (!parsed.success) throw new ProtocolError(invalidParams, 'arguments must be { "month": "YYYY-MM" }');
    const { month } = parsed.data;

    const key = keyOf(context);
    startCalls.push(key === undefined ? {} : { key });
    const known = dedupe && key !== undefined ? taskByKey.get(key) : undefined;
    if (known !== undefined && known.month !== month) {
      throw new ProtocolError(keyReused, 'this idempotency key was used with other arguments');
    }
    const task = known ?? startExport(month);
    if (key !== undefined) taskByKey.set(key, task);
    return task;
  }

  function find(taskId: string): ExportTask {
    const task = tasks.get(taskId);
    if (task === undefined) throw new ProtocolError(invalidParams, 'unknown task');
    return task;
  }

  function mcp(): McpServer {
    const mcpServer = new McpServer(
      { name: 'reports', version: '1.0.0' },
      { capabilities: { tools: {}, extensions: { [tasksExtension]: {} } } },
    );
    const { server } = mcpServer;
    server.setRequestHandler('tools/list', () => ({ tools: [exportTool] }));
    server.setRequestHandler(
      'tools/call',
      { params: z.looseObject({ name: z.string(), arguments: z.unknown() }) },
      ({ name, arguments: args }, context) => ({ resultType: 'task', ...taskFields(callTool(name, args, context)) }),
    );
    server.setRequestHandler('tasks/get', { params: taskParams }, ({ taskId }, context) => {
      requireTasks(context);
      reads += 1;
      const task = find(taskId);
      const result = task.status === 'completed' ? { result: exportResult(task.month) } : {};
      return { resultType: 'complete', ...taskFields(task), ...result };
    });
    server.setRequestHandler('tasks/cancel', { params: taskParams }, ({ taskId }, context) => {
      requireTasks(context);
      cancels += 1;
      const task = find(taskId);
      end(task, 'cancelled');
      task.stop.abort();
      return { resultType: 'complete' };
    });
    return mcpServer;
  }

  const handler = createMcpHandler(mcp, { legacy: 'reject' });
  const stats = (): RemoteStats => ({ startCalls: [...startCalls], tasks: tasks.size, reads, cancels });

  const web = await openWebServer(port, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/stats') return Response.json(stats());
    if (pathname !== '/mcp') return new Response(null, { status: 404 });
    const refusal =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refusal !== undefined) return refusal;
    const response = await handler.fetch(request);
    return beforeReply(request.headers.get('mcp-method') ?? '') === 'drop' ? 'drop' : response;
  });

  return {
    url: `${web.origin}/mcp`,
    stats,
    close: async () => {
      for (const task of tasks.values()) task.stop.abort();
      await handler.close();
      await web.close();
    },
  };
}

const withTasks = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({ extensions: z.looseObject({ [tasksExtension]: z.looseObject({}) }) }),
});
const taskParams = z.looseObject({ taskId: z.string() });

const exportTool = {
  name: 'start_export',
  description: 'Exports the bookings of one month to a file. Answers with a task.',
  inputSchema: {
    type: 'object' as const,
    properties: { month: { type: 'string', description: 'YYYY-MM' } },
    required: ['month'],
  },
};

/** Ends a task. The first end wins: a task that has ended never changes. */
function end(task: ExportTask, status: 'completed' | 'cancelled'): void {
  if (task.status !== 'working') return;
  task.status = status;
  task.lastUpdatedAt = new Date().toISOString();
}

function taskFields(task: ExportTask): Readonly<Record<string, unknown>> {
  const { taskId, status, createdAt, lastUpdatedAt } = task;
  return { taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs };
}

/**
 * Returns the result of an export. Bookings begin in 2020; an earlier month is an error that the tool itself reports.
 */
function exportResult(month: string): ToolResult {
  const [year = 0, monthOfYear = 0] = month.split('-').map(Number);
  if (year < 2020) {
    return { resultType: 'complete', content: [{ type: 'text', text: `no bookings in ${month}` }], isError: true };
  }
  const rows = 400 + monthOfYear;
  return {
    resultType: 'complete',
    content: [{ type: 'text', text: `${rows} rows` }],
    structuredContent: { month, rows, file: `bookings-${month}.csv` },
    isError: false,
  };
}

/** Throws unless the request declares the extension. Without that no task may be sent. */
function requireTasks(context: ServerContext): void {
  if (!withTasks.safeParse(context.mcpReq.envelope).success) {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } });
  }
}

function keyOf(context: ServerContext): string | undefined {
  const header = context.http?.req?.headers.get('idempotency-key');
  const meta = context.mcpReq._meta?.[idempotencyMeta];
  return header ?? (typeof meta === 'string' ? meta : undefined);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runAsProgram('mcp-server', startMcpServer);
