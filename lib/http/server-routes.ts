import type { Context } from 'hono';
import type { Deps } from '../operations/deps.js';
import { listServers } from '../operations/views/list-servers.js';
import { json } from './problem.js';
import { noQueryIn } from './request-parts.js';

export async function list(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await listServers(deps));
}
