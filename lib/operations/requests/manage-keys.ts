import { type Role, roles, tenantName } from '../../base/caller.js';
import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import type { NamedKey } from '../../history/named-key.js';
import type { Deps } from '../deps.js';
import { toKeyView, type NamedKeyView } from '../named-key-view.js';

/** A key with its text, which is not shown again. */
export interface NewKey extends NamedKeyView {
  readonly key: string;
}

const keyName = /^[a-z0-9][a-z0-9-]{0,63}$/;

/**
 * Makes a named key. No name is used twice, not even after the key was revoked.
 * @throws EngineError `INPUT_INVALID`, `NAMED_KEY_EXISTS`
 */
export async function addKey(
  deps: Deps,
  wanted: { readonly name: string; readonly roles: readonly Role[]; readonly tenant?: string },
): Promise<NewKey> {
  const { name, tenant } = wanted;
  if (!keyName.test(name))
    throw new EngineError('INPUT_INVALID', 'the name of a key must be 1 to 64 of a-z, 0-9 and "-"');
  if (tenant !== undefined && !tenantName.test(tenant))
    throw new EngineError('INPUT_INVALID', 'a tenant must be 1 to 64 letters, digits, ".", "_" or "-"');
  const { key, digest } = newText(deps, name);
  const made: NamedKey = {
    name,
    roles: roles.filter((role) => wanted.roles.includes(role)),
    createdAtMs: deps.clock.nowMs(),
    digest,
    ...defined({ tenant, by: deps.caller?.id }),
  };
  const { keys } = await deps.store.callers();
  if (!(await keys.add(made, deps.random.hex(16))))
    throw new EngineError(
      'NAMED_KEY_EXISTS',
      `there is, or was, a key named "${name}": choose another name, or rotate the key`,
    );
  deps.log.info('named key added', { key: name, roles: made.roles, ...defined({ tenant, by: deps.caller?.id }) });
  return { ...toKeyView(made), key };
}

/**
 * Replaces a key. The one before stays valid until it is revoked or the key is rotated again.
 * @throws EngineError `NAMED_KEY_NOT_FOUND`; `STORE_UNAVAILABLE` if it is being rotated concurrently
 */
export async function rotateKey(deps: Deps, name: string): Promise<NewKey> {
  const { keys } = await deps.store.callers();
  const known = keyName.test(name) ? await keys.read(name) : undefined;
  if (known?.digest === undefined) throw notFound();
  const { key, digest } = newText(deps, name);
  const rotated = await keys.rotate(name, { digest, oldDigest: known.digest });
  if (rotated?.digest !== digest) throw new EngineError('STORE_UNAVAILABLE', 'the key is being changed concurrently');
  deps.log.info('named key rotated', { key: name, ...defined({ by: deps.caller?.id }) });
  return { ...toKeyView(rotated), key };
}

/**
 * Revokes a key for good, or with `only: 'old'` the one that was rotated away.
 * @throws EngineError `NAMED_KEY_NOT_FOUND`
 */
export async function revokeKey(deps: Deps, name: string, only?: 'old'): Promise<NamedKeyView> {
  const { keys } = await deps.store.callers();
  const revoked = keyName.test(name) ? await keys.revoke(name, deps.clock.nowMs(), only) : undefined;
  if (revoked === undefined) throw notFound();
  deps.log.info('named key revoked', { key: name, ...defined({ only, by: deps.caller?.id }) });
  return toKeyView(revoked);
}

function newText({ random, digest }: Deps, name: string): { readonly key: string; readonly digest: string } {
  const key = `owk_${name}.${random.hex(32)}`;
  return { key, digest: digest(key) };
}

function notFound(): EngineError {
  return new EngineError('NAMED_KEY_NOT_FOUND', 'no key has this name, or it is revoked');
}
