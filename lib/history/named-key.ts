import type { Role } from '../base/caller.js';
import type { EpochMs } from '../base/time.js';

/** A credential with a name. Its text is shown once; only digests of it are stored. */
export interface NamedKey {
  readonly name: string;
  readonly roles: readonly Role[];
  /** Missing for keys of operators, who see the runs of all tenants. */
  readonly tenant?: string;
  readonly createdAtMs: EpochMs;
  /** SHA-256 of the key, in hex; missing once it is revoked. */
  readonly digest?: string;
  /** SHA-256 of the key before it, which is valid until it is revoked or the key is rotated again. */
  readonly oldDigest?: string;
  /** The last day on which the key was used, as a number of days since 1970. */
  readonly usedDay?: number;
  readonly revokedAtMs?: EpochMs;
  /** Id of the caller who made the key. */
  readonly by?: string;
}
