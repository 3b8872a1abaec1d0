/** What a state of an A2A task means to a caller. */
export type A2aStateClass = 'active' | 'completed' | 'failed' | 'rejected' | 'canceled';

const classes: Readonly<Record<string, A2aStateClass>> = {
  submitted: 'active',
  working: 'active',
  'input-required': 'active',
  'auth-required': 'active',
  completed: 'completed',
  failed: 'failed',
  rejected: 'rejected',
  canceled: 'canceled',
};

/**
 * The class of a state in the names of 1.0 (`TASK_STATE_CANCELED`), of 0.3 (`canceled`) and of its ProtoJSON form
 * (`TASK_STATE_CANCELLED`). Exact lookup; everything else, also what is no text, is active: an end is never guessed.
 */
export function a2aStateClass(state: unknown): A2aStateClass {
  if (typeof state !== 'string') return 'active';
  const name = state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^cancelled$/, 'canceled');
  return Object.hasOwn(classes, name) ? (classes[name] ?? 'active') : 'active';
}
