/** Meaning of an A2A task state to a caller. */
export type A2aStateClass =
  'active' | 'input_required' | 'auth_required' | 'completed' | 'failed' | 'rejected' | 'canceled';

const states: Readonly<Record<string, { readonly name: string; readonly meaning: A2aStateClass }>> = {
  submitted: { name: 'TASK_STATE_SUBMITTED', meaning: 'active' },
  working: { name: 'TASK_STATE_WORKING', meaning: 'active' },
  'input-required': { name: 'TASK_STATE_INPUT_REQUIRED', meaning: 'input_required' },
  'auth-required': { name: 'TASK_STATE_AUTH_REQUIRED', meaning: 'auth_required' },
  completed: { name: 'TASK_STATE_COMPLETED', meaning: 'completed' },
  failed: { name: 'TASK_STATE_FAILED', meaning: 'failed' },
  rejected: { name: 'TASK_STATE_REJECTED', meaning: 'rejected' },
  canceled: { name: 'TASK_STATE_CANCELED', meaning: 'canceled' },
};

/**
 * Returns the class of a state in the names of 1.0 (`TASK_STATE_CANCELED`), of 0.3 (`canceled`) and of its ProtoJSON
 * form (`TASK_STATE_CANCELLED`). Exact lookup; everything else, including non-strings, is active: an end is never
 * guessed.
 */
export function a2aStateClass(state: unknown): A2aStateClass {
  return known(state)?.meaning ?? 'active';
}

/** Returns a known state in the names of 1.0, and any other value unchanged. */
export function a2aStateName<Value>(state: Value): Value | string {
  return known(state)?.name ?? state;
}

function known(state: unknown) {
  if (typeof state !== 'string') return undefined;
  const name = state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^cancelled$/, 'canceled');
  return Object.hasOwn(states, name) ? states[name] : undefined;
}
