import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import * as z from 'zod/mini';
import { roles } from '../base/caller.js';
import type { Deps } from '../operations/deps.js';
import { addKey, revokeKey, rotateKey } from '../operations/requests/manage-keys.js';
import { listKeys } from '../operations/views/list-keys.js';
import { parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf } from './request-parts.js';
import { emptyBody, inputsQuery } from './requests.js';

// Handlers of the routes under /keys.

const keyBody = z.strictObject({
  name: z.string(),
  roles: z.array(z.enum(roles)).check(z.minLength(1), z.maxLength(roles.length)),
  tenant: z.optional(z.string()),
});
const revokeBody = z.strictObject({
  /** Revokes only the key that was rotated away. */
  only: z.optional(z.literal('old')),
});

export async function add(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const { name, roles, tenant } = await bodyIn(context, keyBody);
  return json(201, await addKey(deps, { name, roles, ...defined({ tenant }) }));
}

export async function list(deps: Deps, context: Context): Promise<Response> {
  const { limit, ...page } = parseQuery(inputsQuery, queryOf(context));
  return json(200, await listKeys(deps, { limit, ...defined(page) }));
}

export async function rotate(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  await bodyIn(context, emptyBody, { emptyAllowed: true });
  return json(200, await rotateKey(deps, context.req.param('name') ?? ''));
}

export async function revoke(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const { only } = await bodyIn(context, revokeBody, { emptyAllowed: true });
  return json(200, await revokeKey(deps, context.req.param('name') ?? '', only));
}
