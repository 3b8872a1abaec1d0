import { storedError, type StoredError } from '../base/errors.js';

/** How often the process may die during a step before the step fails. */
const poisonStrikes = 3;

interface BegunStep {
  readonly name: string;
  readonly policy: { readonly atMostOnce: boolean };
}

/**
 * Returns why a step must not begin again; undefined if it may. `interrupted`: attempts that died with their process.
 */
export function interruption({ policy, name }: BegunStep, interrupted: number): StoredError | undefined {
  if (policy.atMostOnce && interrupted > 0) {
    return storedError('STEP_INTERRUPTED', `step "${name}" may run at most once, and its process died`, {
      step: name,
    });
  }
  if (interrupted >= poisonStrikes) {
    return storedError('STEP_POISONED', `the process died ${interrupted} times during step "${name}"`, { step: name });
  }
  return undefined;
}
