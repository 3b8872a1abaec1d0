import { lazy } from '../../base/lazy.js';
import type { KeySets, KeySetsDeps } from './key-sets.js';

/** Returns the keys of issuers; the module is loaded at the first token. */
export function lazyKeySets(deps: KeySetsDeps): Pick<KeySets, 'read'> {
  const load = lazy(async () => {
    const { KeySets } = await import('./key-sets.js');
    return new KeySets(deps);
  });
  return { read: async (url, options) => (await load()).read(url, options) };
}
