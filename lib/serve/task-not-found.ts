import { EngineError } from '../base/errors.js';

/** Creates the one error for a task that does not exist and for one that the caller may not see, or not here. */
export function taskNotFound(): EngineError {
  return new EngineError('TASK_NOT_FOUND', 'no task has this id');
}
