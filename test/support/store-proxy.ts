import type { RunStore } from '../../lib/store/run-store.js';

/**
 * Returns the store with its parts passed through `wrap`, except the part in which workers share what they know of
 * servers, and those that load late; starts of workflows that limit them do, and are passed through all the same.
 */
export function withParts(store: RunStore, wrap: <Part extends object>(part: Part, name: string) => Part): RunStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'limitedStarts') return async () => wrap(await target.limitedStarts(), name);
      const part: unknown = Reflect.get(target, name, target);
      const isPart = typeof part === 'object' && part !== null && name !== 'servers';
      return isPart ? wrap(part, String(name)) : part;
    },
  });
}

/**
 * Returns a store whose methods come from the handler, as those of a Proxy do: by their part and name, as in
 * `tokens.put`. `target` has those of `store`, each bound to its part.
 */
export function storeProxy(
  store: RunStore,
  handler: { readonly get: (target: object, name: string) => unknown },
): RunStore {
  return withParts(store, (part, partName) => {
    const bound = new Proxy(part, {
      get(_, name) {
        const method: unknown = Reflect.get(part, String(name).slice(partName.length + 1), part);
        return typeof method === 'function' ? (method.bind(part) as unknown) : method;
      },
    });
    return new Proxy(part, { get: (_, name) => handler.get(bound, `${partName}.${String(name)}`) });
  });
}
