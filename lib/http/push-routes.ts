import type { Context } from 'hono';
import { utf8MediaType } from '../base/body-text.js';
import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { Deps } from '../operations/deps.js';
import { pushUrl } from '../operations/remote-task/push-registration.js';
import { pushedWait, receivePush } from '../operations/requests/receive-push.js';
import { checkLength, readBytes } from './read-body.js';
import { noQueryIn } from './request-parts.js';

// Handler of the route of pushes. `routes.ts` loads it at the first push.

/** Largest push that is verified. With base64 it is still below what Lambda takes. */
const pushMaxBytes = 4 * 1024 * 1024;

export async function receiveA2a(deps: Deps, context: Context): Promise<Response> {
  const pushToken = context.req.param('pushToken') ?? '';
  const wait = pushedWait(deps, pushToken);
  noQueryIn(context);
  const request = context.req.raw;
  checkLength(request, pushMaxBytes);
  checkJsonFamily(request.headers.get('content-type'));
  const body = await readBytes(request, pushMaxBytes);
  const audience = deps.publicUrl === undefined ? undefined : pushUrl(deps.publicUrl, pushToken);
  const headers = Object.fromEntries(request.headers);
  await receivePush(deps, wait, { headers, body, atMs: deps.clock.nowMs(), ...defined({ audience }) });
  return new Response(null, { status: 202 });
}

/** Takes any JSON type: agents send `application/a2a+json` and others. @throws EngineError `UNSUPPORTED_MEDIA_TYPE` */
function checkJsonFamily(contentType: string | null): void {
  if (/^application\/([a-z0-9.-]+\+)?json$/.test(utf8MediaType(contentType) ?? '')) return;
  throw new EngineError('UNSUPPORTED_MEDIA_TYPE', 'content-type must be application/json or application/a2a+json');
}
