import type { Role } from '../base/caller.js';
import { defined } from '../base/defined.js';
import type { EpochMs } from '../base/time.js';
import type { NamedKey } from '../history/named-key.js';

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

/** Returns what is shown of a key: no digest. */
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
