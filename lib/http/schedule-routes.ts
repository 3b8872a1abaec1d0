import type { Context } from 'hono';
import type { Deps } from '../operations/deps.js';
import { listSchedules } from '../operations/schedules/list-schedules.js';
import { pauseSchedule, resumeSchedule } from '../operations/schedules/pause-schedule.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn } from './request-parts.js';
import { emptyBody } from './requests.js';

// Handlers of the routes under /schedules.

export async function list(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, { schedules: await listSchedules(deps) });
}

export function control(kind: 'pause' | 'resume'): (deps: Deps, context: Context) => Promise<Response> {
  const act = kind === 'pause' ? pauseSchedule : resumeSchedule;
  return async (deps, context) => {
    noQueryIn(context);
    await bodyIn(context, emptyBody, { emptyAllowed: true });
    return json(200, await act(deps, context.req.param('name') ?? ''));
  };
}
