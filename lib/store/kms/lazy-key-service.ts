import { lazy } from '../../base/lazy.js';
import type { KeyService, KmsOptions } from './key-service.js';

/** Creates a key service on KMS whose code is loaded with the first key, since most deployments have no key there. */
export function lazyKeyService(options: KmsOptions): KeyService {
  const load = lazy(async () => (await import('./key-service.js')).kmsKeyService(options));
  return {
    generate: async () => (await load()).generate(),
    unwrap: async (wrapped) => (await load()).unwrap(wrapped),
  };
}
