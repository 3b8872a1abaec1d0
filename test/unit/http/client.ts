import { createRoutes, type RouteOptions } from '../../../lib/http/routes.js';
import { aWorld, type World } from './world.js';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

export function aClient(world: World = aWorld(), options: RouteOptions = {}) {
  const app = createRoutes(world.deps, options);
  const ask = async (
    method: string,
    path: string,
    init: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> => {
    const text =
      init.body === undefined ? undefined : typeof init.body === 'string' ? init.body : JSON.stringify(init.body);
    const response = await app.request(path, {
      method,
      headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...init.headers },
      ...(text === undefined ? {} : { body: text }),
    });
    return {
      status: response.status,
      body: response.status === 204 ? null : await response.json().catch(() => null),
      headers: response.headers,
    };
  };
  return { world, ask };
}

export const errorOf = (answer: Answer): { code: string; message: string; details?: unknown } =>
  (answer.body as { error: { code: string; message: string; details?: unknown } }).error;

export async function startedRun(client: ReturnType<typeof aClient>, workflow = 'waits'): Promise<string> {
  const started = await client.ask('POST', '/runs', { body: { workflow, input: { text: 'x' } } });
  await client.world.runTurns();
  return (started.body as { runId: string }).runId;
}
