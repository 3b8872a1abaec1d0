import type { ServerResponse } from 'node:http';
import { json, type Received, result, serve, type LoopbackServer } from './loopback.js';

interface Session {
  readonly id: string;
  isOpen: boolean;
  readonly tasks: PythonTask[];
}
interface PythonTask {
  readonly taskId: string;
  readonly session: Session;
  readonly worksIn: Session;
  status: 'working' | 'completed' | 'cancelled';
  /** The work ended together with its session, and its status is never changed. */
  isStopped: boolean;
}

export interface PythonPeer extends LoopbackServer {
  /** Lets the code of the task return. */
  readonly returns: (taskId: string) => void;
  /** Ends a session, as an idle one ends. */
  readonly ends: (session: string) => void;
  readonly open: () => number;
  /** Returns the number of sessions that were opened and ended by a request other than a handshake. */
  readonly strays: () => number;
  /** Returns the methods of the requests so far, each with its session as a number: the first that was opened is 1. */
  readonly sent: () => readonly string[];
}

/**
 * Starts a server as the first SDK for Python makes them (seen with 1.30.0): every request without a session opens one,
 * which ends if the request was no handshake. A task works in the resources of the session that was opened last; the
 * end of any session leaves new tasks without them; and code that returns after its task was cancelled ends the session
 * that it works in, with all work.
 */
export async function aPythonPeer(): Promise<PythonPeer> {
  const sessions: Session[] = [];
  const tasks: PythonTask[] = [];
  let newest: Session | undefined;
  let strays = 0;
  const open = (): Session => {
    const session = { id: String(sessions.length + 1).padStart(32, '0'), isOpen: true, tasks: [] };
    sessions.push(session);
    newest = session;
    return session;
  };
  const end = (session: Session): void => {
    session.isOpen = false;
    newest = undefined;
  };
  const refuse = (response: ServerResponse, status: number, message: string): void => {
    json(response, { jsonrpc: '2.0', id: 'server-error', error: { code: -32600, message } }, status);
  };
  const call = (session: Session, request: Received, response: ServerResponse): void => {
    const { method, params } = request.body;
    const task = tasks.find(({ taskId, session: { id } }) => taskId === params['taskId'] && id === session.id);
    switch (method) {
      case 'notifications/initialized':
        response.writeHead(202).end();
        return;
      case 'tools/list':
        result(response, request, {
          tools: [
            { name: 'work', inputSchema: {}, execution: { taskSupport: 'required' } },
            { name: 'plain', inputSchema: {} },
          ],
        });
        return;
      case 'tools/call':
        if (params['task'] === undefined) {
          result(response, request, { content: [{ type: 'text', text: 'plain' }] });
        } else if (newest === undefined) {
          const text = 'TaskSupport not running. Ensure Server.run() is active.';
          result(response, request, { content: [{ type: 'text', text }], isError: true });
        } else {
          const made = {
            taskId: `t${tasks.length + 1}`,
            session,
            worksIn: newest,
            status: 'working',
            isStopped: false,
          };
          tasks.push(made as PythonTask);
          newest.tasks.push(made as PythonTask);
          result(response, request, { task: { taskId: made.taskId, status: 'working', ttl: 60_000 } });
        }
        return;
      default:
        if (task === undefined) {
          json(response, { jsonrpc: '2.0', id: request.body.id, error: { code: -32602, message: 'Task not found' } });
          return;
        }
        if (method === 'tasks/cancel') task.status = 'cancelled';
        result(
          response,
          request,
          method === 'tasks/result'
            ? { content: [{ type: 'text', text: 'done' }] }
            : { taskId: task.taskId, status: task.status, ttl: 60_000 },
        );
    }
  };
  const server = await serve((request, response) => {
    const id = request.headers['mcp-session-id'];
    const session = id === undefined ? open() : sessions.find((one) => one.id === id && one.isOpen);
    if (session === undefined) {
      refuse(response, 404, 'Session not found');
    } else if (id !== undefined) {
      call(session, request, response);
    } else if (request.body.method === 'initialize') {
      const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
      const hello = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'py', version: '1.30.0' } };
      json(response, { jsonrpc: '2.0', id: request.body.id, result: hello }, 200, { 'mcp-session-id': session.id });
    } else {
      strays++;
      end(session);
      refuse(response, 400, 'Bad Request: Missing session ID');
    }
  });
  return {
    ...server,
    returns: (taskId) => {
      const task = tasks.find((one) => one.taskId === taskId)!;
      if (task.isStopped) return;
      if (task.status === 'working') {
        task.status = 'completed';
        return;
      }
      for (const one of task.worksIn.tasks) one.isStopped = true;
      end(task.worksIn);
    },
    ends: (id) => {
      end(sessions.find((one) => one.id === id)!);
    },
    strays: () => strays,
    open: () => sessions.filter(({ isOpen }) => isOpen).length,
    sent: () =>
      server.received.map(({ body: { method }, headers }) => {
        const id = headers['mcp-session-id'];
        return id === undefined || id === 'none' ? method : `${method} ${Number(id)}`;
      }),
  };
}
