import { storedError, type StoredError } from '../base/errors.js';

/** Times a step may take its process with it before it is failed. */
const poisonStrikes = 3;

interface BegunStep {
  readonly name: string;
  readonly policy: { readonly atMostOnce: boolean };
}

/** Why a step must not be begun again; undefined when it may. `interrupted`: attempts that died with their process. */
export function interruption({ policy, name }: BegunStep, interrupted: number): StoredError | undefined {
  if (policy.atMostOnce && interrupted > 0) {
    return storedError('STEP_INTERRUPTED', `step "${name}" was begun, its process died, and it may run at most once`, {
      step: name,
    });
  }
  if (interrupted >= poisonStrikes) {
    return storedError('STEP_POISONED', `step "${name}" took its process with it ${interrupted} times`, { step: name });
  }
  return undefined;
}
