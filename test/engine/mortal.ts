import type { Deps } from '../../lib/operations/deps.js';
import { withParts } from '../support/store-proxy.js';

/** The dependencies of a process that can die: after its death none of its operations takes effect or returns. */
export interface Mortal {
  readonly deps: Deps;
  readonly die: () => void;
  /** Resolves when it has died. */
  readonly death: Promise<void>;
}

export function mortal(deps: Deps): Mortal {
  let isDead = false;
  let die = (): void => undefined;
  const death = new Promise<void>((resolve) => {
    die = () => {
      isDead = true;
      resolve();
    };
  });
  const never = new Promise<never>(() => undefined);
  const guarded = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => (isDead ? never : Reflect.apply(value, target, args));
      },
    });
  return {
    deps: {
      ...deps,
      store: withParts(deps.store, guarded),
      queues: guarded(deps.queues),
      delay: (delayMs, signal) =>
        isDead ? never : deps.delay(delayMs, signal).then(() => (isDead ? never : undefined)),
    },
    die,
    death,
  };
}
