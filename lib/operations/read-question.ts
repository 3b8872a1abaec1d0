import { EngineError } from '../base/errors.js';
import { isRunId, isWaitId } from '../base/ids.js';
import type { TokenRecord } from '../history/records.js';
import type { Deps } from './deps.js';

/** Reads the token of a question to a person. @throws EngineError `INPUT_NOT_FOUND` */
export async function readQuestion(deps: Deps, inputId: string): Promise<TokenRecord> {
  const [runId = '', waitId = '', ...rest] = inputId.split('.');
  const isId = rest.length === 0 && isRunId(runId) && isWaitId(waitId);
  const token = isId ? await deps.store.tokens.read(runId, waitId) : undefined;
  if (token?.form === undefined) throw inputNotFound();
  return token;
}

/** Creates the error for an id that no open question has. */
export function inputNotFound(cause?: unknown): EngineError {
  return new EngineError('INPUT_NOT_FOUND', 'no question has this id', { cause });
}
