import { defined } from '../../base/defined.js';
import { StepFailed, storedError, type StoredError } from '../../base/errors.js';
import type { StepRequested } from '../../history/event.js';
import type { RunStep } from '../command.js';
import { deadline } from './deadline.js';
import type { Ends, WaitKind } from './kind.js';

/** Step. In a turn it ends by an event, a long one by the settlement of its token. */
export const step: WaitKind<RunStep, StepRequested> = {
  eventType: 'StepRequested',
  details({ name, policy }, atMs) {
    return {
      name,
      ...defined({ long: policy.long || undefined }),
      ...deadline(policy.long ? policy.deadlineMs : undefined, atMs),
    };
  },
  identity({ name }) {
    return name;
  },
  describe({ name }) {
    return `step "${name}"`;
  },
  given({ name }, outcome) {
    switch (outcome.kind) {
      case 'completed':
        return outcome.isError
          ? stepFailed(storedError('STEP_FAILED', `step "${name}" was settled as failed`, { result: outcome.result }))
          : { value: outcome.isVoid === true ? undefined : outcome.result };
      case 'failed': {
        const { code, message, details } = outcome.error;
        if (code !== 'REMOTE_TASK_FAILED') return stepFailed(outcome.error);
        // Settled by hand, without knowing what the wait is for.
        const reason = message.replace(/^remote task failed: /, '');
        return stepFailed(storedError('STEP_FAILED', `step "${name}" failed: ${reason}`, details));
      }
      case 'timed_out':
      case 'abandoned':
      case 'run_ended':
        return stepFailed(
          storedError('STEP_TIMED_OUT', `step "${name}" did not end before its deadline`, { step: name }),
        );
    }
  },
  toDropped({ name }) {
    return { kind: 'step', name };
  },
};

/** Ends of a step in a turn. */
export const stepEnds: Ends<'StepCompleted' | 'StepFailed'> = {
  StepCompleted({ result }) {
    return { value: result };
  },
  StepFailed({ error }) {
    return stepFailed(error);
  },
};

/** Creates the error of a failed step: the same class for every code, so that one `catch` handles all of them. */
function stepFailed({ code, message, details }: StoredError): StepFailed {
  return new StepFailed(code, message, defined({ details }));
}
