import type { Deps } from './deps.js';

/**
 * Returns the digest of a name that callers give within a workflow, and within a tenant if there is one: an id, a
 * concurrency key, the key of a throttle. A digest, since such names may be long, and may hold data that readers of the
 * table's keys must not see. A name without a tenant never equals one with a tenant, since no name of a workflow has a
 * space.
 */
export function digestOfName(
  { digest }: Pick<Deps, 'digest'>,
  { workflow, tenant }: { readonly workflow: string; readonly tenant: string | undefined },
  name: string,
): string {
  return digest(`${tenant === undefined ? '' : `tenant ${tenant}\n`}${workflow}\n${name}`);
}
