import type { Context } from 'hono';
import { mediaTypeOf } from '../inbound/body.js';
import type { Deps } from '../operations/deps.js';
import { receiveDelivery } from '../operations/requests/receive-delivery.js';
import { json } from './problem.js';
import { checkLength, readBytes } from './read-body.js';

// Handler of the route of hooks. `routes.ts` loads it at the first delivery.

const deliveryMaxBytes = 256 * 1024;

/** Schemes with an empty answer: Slack shows the answer to the people in a channel. */
const silent: ReadonlySet<string> = new Set(['slack']);

export async function receive(deps: Deps, context: Context): Promise<Response> {
  const request = context.req.raw;
  checkLength(request, deliveryMaxBytes);
  const mediaType = mediaTypeOf(request.headers.get('content-type') ?? undefined);
  const hook = context.req.param('name') ?? '';
  const received = await receiveDelivery(deps, {
    hook,
    headers: Object.fromEntries(request.headers),
    mediaType,
    body: await readBytes(request, deliveryMaxBytes),
  });
  if (received.outcome === 'challenged') return json(200, { challenge: received.challenge });
  if (silent.has(deps.app.hooks[hook]?.auth.scheme ?? '')) return new Response(null, { status: 200 });
  return json(200, received);
}
