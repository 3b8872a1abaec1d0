import pLimit from 'p-limit';
import { defined } from '../../base/defined.js';
import { runsReadInParallel } from '../../base/limits.js';
import type { Deps } from '../deps.js';
import { type NamedKeyView, toKeyView } from '../named-key-view.js';

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
