import pLimit from 'p-limit';
import type { Role } from '../../base/caller.js';
import { defined } from '../../base/defined.js';
import { runsReadInParallel } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { NamedKey } from '../../history/named-key.js';
import type { Deps } from '../deps.js';

/** A named key, without anything that could be used in its place. */
export interface NamedKeyView {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly tenant?: string;
  readonly createdAtMs: EpochMs;
  /** The last day of use, such as `2026-11-30`. */
  readonly lastUsed?: string;
  /** Whether the key before the last rotation is still valid. */
  readonly oldIsValid: boolean;
  readonly revokedAtMs?: EpochMs;
}

export interface NamedKeyList {
  readonly keys: readonly NamedKeyView[];
  /** Set if there may be more. */
  readonly cursor?: string;
}

/** Lists named keys, also revoked ones, oldest first. */
export async function listKeys(
  deps: Deps,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<NamedKeyList> {
  const { keys: stored } = await deps.store.callers();
  const page = await stored.names(limit, cursor);
  const reads = pLimit(runsReadInParallel);
  const keys = await Promise.all(page.names.map((name) => reads(() => stored.read(name))));
  return {
    keys: keys.filter((key) => key !== undefined).map(toKeyView),
    ...defined({ cursor: page.cursor }),
  };
}

export function toKeyView({
  name,
  roles,
  tenant,
  createdAtMs,
  oldDigest,
  usedDay,
  revokedAtMs,
}: NamedKey): NamedKeyView {
  const lastUsed = usedDay === undefined ? undefined : new Date(usedDay * 24 * 3_600_000).toISOString().slice(0, 10);
  return {
    name,
    roles,
    createdAtMs,
    oldIsValid: oldDigest !== undefined,
    ...defined({ tenant, lastUsed, revokedAtMs }),
  };
}
