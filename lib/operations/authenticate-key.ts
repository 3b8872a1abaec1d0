import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../base/caller.js';
import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import type { NamedKey } from '../history/named-key.js';
import type { Deps } from './deps.js';

const dayMs = 24 * 3_600_000;

/**
 * Returns the caller of a named key. The text of a key holds its name, so one read finds it; what is stored is a digest,
 * compared in constant time. Notes the day of use, once a day.
 * @throws EngineError `UNAUTHORIZED`
 */
export async function authenticateKey(deps: Deps, key: string): Promise<Caller> {
  const name = keyForm.exec(key)?.[1];
  const known = name === undefined ? undefined : await (await deps.store.callers()).keys.read(name);
  const given = deps.digest(key);
  // Compares with both, whatever the first comparison says, and also where there is no key.
  const fits = [known?.digest, known?.oldDigest].filter((digest) => isSame(digest ?? noDigest, given));
  if (known === undefined || fits.length === 0) throw new EngineError('UNAUTHORIZED', 'a valid bearer token is needed');
  await noteUse(deps, known);
  const { roles, tenant } = known;
  return { id: known.name, roles, ...defined({ tenant }) };
}

/** Text of a named key: `owk_<name>.<64 hexadecimal digits>`. */
const keyForm = /^owk_([a-z0-9][a-z0-9-]{0,63})\.[0-9a-f]{64}$/;

/** Never the digest of a key. */
const noDigest = '-'.repeat(64);

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

async function noteUse({ clock, store, log }: Deps, { name, usedDay = 0 }: NamedKey): Promise<void> {
  const day = Math.floor(clock.nowMs() / dayMs);
  if (usedDay >= day) return;
  try {
    await (await store.callers()).keys.noteUse(name, day);
  } catch (error) {
    log.info('use of a key not noted', { key: name, error });
  }
}
