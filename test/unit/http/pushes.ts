import { createHmac } from 'node:crypto';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { EngineError } from '../../../lib/base/errors.js';
import { a2aAgent, type A2aAgentOptions, defineApp, defineWorkflow } from '../../../lib/index.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import type { PollMessage } from '../../../lib/queue/queue.js';
import { SecretReader } from '../../../lib/secrets/secret-reader.js';
import { ScriptedServer } from '../../../lib/testing/scripted-server.js';
import { anEvent } from './event.js';
import { aWorld, type World } from './world.js';
import { heardMetrics } from '../../support/outputs/heard.js';

// A wait for a task of an A2A agent, and pushes about it through the real handler of the API.

export const values: Record<string, string | undefined> = {};

export const quotes = defineWorkflow({
  name: 'quotes',
  run: (ctx) => ctx.callRemoteTask({ server: 'agent', skill: 'quote', timeout: { hours: 100 } }),
});

export interface Pushed {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly base64?: boolean;
}

export interface PushWorld extends World {
  readonly runId: string;
  readonly taskId: string;
  /** Last part of the push URL, and the secret, that the agent was given. */
  readonly token: string;
  readonly secret: string;
  /** Sends a push as an event of API Gateway. Without headers it carries the right secret. */
  push(pushed?: Pushed): Promise<{ readonly status: number; readonly body: string }>;
  pokes(): PollMessage[];
  readonly counts: Record<string, number>;
}

export const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');

export const statusBody = (taskId: string, state = 'TASK_STATE_COMPLETED') =>
  JSON.stringify({ statusUpdate: { taskId, contextId: 'c', status: { state } } });

/** Starts a task at an agent that goes on for ever. */
export async function aPushedTask(options: A2aAgentOptions = {}): Promise<PushWorld> {
  const world = aWorld();
  const agent = new ScriptedServer({ protocol: 'a2a', task: () => ({ never: true }) });
  agent.connect('agent', world.deps.clock);
  const servers = {
    agent: a2aAgent({ card: 'https://agent.example.com', ...options }),
    other: a2aAgent({ card: 'https://other.example.com' }),
  };
  const counts: PushWorld['counts'] = {};
  const aws = {
    readParameter: () => Promise.reject(new EngineError('REMOTE_UNREACHABLE', 'no')),
    readSecret: () => Promise.resolve(undefined),
  };
  Object.assign(world.deps, {
    app: defineApp({ workflows: [quotes], servers }),
    transports: { get: () => agent },
    secrets: new SecretReader({ clock: world.deps.clock, readSecret: (name) => values[name], aws }),
    metrics: heardMetrics({
      put: (name: string, value: number, { result }: { result?: string } = {}) => {
        if (!name.startsWith('Push')) return;
        const counted = result === undefined ? name : `${name} ${result}`;
        counts[counted] = (counts[counted] ?? 0) + value;
      },
    }),
  });
  const handle = apiHandler(() => world.deps, { managementTokens: () => ['canary-management-token'] });
  const { runId } = await startRun(world.deps, { workflow: 'quotes' });
  await world.runTurns();
  world.queues.work.receive(10);
  const { handle: task } = (await world.deps.store.tokens.read(runId, '1'))!;
  const { token, secret } = world.deps.tokens.pushToken({ runId, waitId: '1', server: 'agent' });
  const taskId = task!.taskId;
  const push: PushWorld['push'] = async (pushed = {}) => {
    const { body = statusBody(taskId), headers = { 'x-a2a-notification-token': secret } } = pushed;
    const path = `/push/a2a/${pushed.token ?? token}`;
    const event = anEvent({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...headers },
      body,
      base64: pushed.base64 ?? false,
    });
    const { statusCode, body: answer } = await handle(event);
    return { status: statusCode ?? 0, body: answer ?? '' };
  };
  const pokes = () => {
    const received = world.queues.work.receive(10).map(({ body }) => JSON.parse(body) as PollMessage);
    return received.filter(({ dueAtMs }) => dueAtMs === undefined);
  };
  return Object.assign(world, { runId, taskId, token, secret, push, pokes, counts });
}
