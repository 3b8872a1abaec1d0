import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import { EngineError } from '../base/errors.js';
import type { Deps } from '../operations/deps.js';
import { cancelRemoteTask } from '../operations/requests/cancel-remote-task.js';
import { listRemoteTasks } from '../operations/views/list-remote-tasks.js';
import { readRemoteTaskNow } from '../operations/views/read-remote-task.js';
import { pollRemoteTask } from '../operations/requests/poll-remote-task.js';
import { parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf, runIdIn } from './request-parts.js';
import { emptyBody, remoteTaskQuery, remoteTasksQuery } from './requests.js';

// Handlers of the routes for tasks on remote servers.

export async function list(deps: Deps, context: Context): Promise<Response> {
  const { limit, orphaned, stale, staleAfter, ...page } = parseQuery(remoteTasksQuery, queryOf(context));
  // The index of orphans is not by tenant.
  if (orphaned === 'true' && deps.caller?.tenant !== undefined)
    throw new EngineError('FORBIDDEN', 'the list of orphans is for callers without a tenant');
  const staleAfterMs = staleAfter === undefined ? undefined : staleAfter * 1_000;
  const query = {
    limit,
    orphaned: orphaned === 'true',
    stale: stale === 'true',
    ...defined({ ...page, staleAfterMs }),
  };
  return json(200, await listRemoteTasks(deps, query));
}

export async function read(deps: Deps, context: Context): Promise<Response> {
  const { taskId } = parseQuery(remoteTaskQuery, queryOf(context));
  return json(200, await readRemoteTaskNow(deps, context.req.param('server') ?? '', taskId));
}

export async function cancel(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const runId = runIdIn(context);
  await bodyIn(context, emptyBody, { emptyAllowed: true });
  return json(200, await cancelRemoteTask(deps, runId, context.req.param('waitId') ?? ''));
}

export async function poll(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const runId = runIdIn(context);
  await bodyIn(context, emptyBody, { emptyAllowed: true });
  return json(202, await pollRemoteTask(deps, runId, context.req.param('waitId') ?? ''));
}
