// Chains of calls: a task calls an agent, whose task calls the next one. Each task of outwait sends on the marks of those
// that have led to it, with its own, so that a chain ends somewhere, and no task waits for itself.

import { callChainExtension } from '../../base/a2a-extensions.js';
import { EngineError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { isList } from '../../base/list.js';
import type { TaskMessage } from '../../history/task-content.js';
import { depthMax, type ServeConfig } from '../../workflow/serve.js';
import type { Deps } from '../deps.js';
import { lastUnderWay } from '../lane.js';

const depthDefault = 5;
const markMaxChars = 32;

/** The lane of a task that waits for those before it in its context, or the task itself. */
export interface CallPlace {
  readonly lane?: string | undefined;
  readonly taskId: string;
}

/**
 * Returns the chain of a task that a message starts: the marks that came with it, and that of the task.
 * @throws EngineError `INPUT_INVALID` if the chain is deeper than the agent allows, or comes back into a context that
 * waits for it
 */
export async function callsOf(
  deps: Deps,
  { limits }: ServeConfig,
  { metadata }: Pick<TaskMessage, 'metadata'>,
  { lane, taskId }: CallPlace,
): Promise<readonly string[]> {
  const came = marksIn(metadata?.[callChainExtension]);
  const depth = limits?.depth ?? depthDefault;
  if (came.length >= depth)
    throw new EngineError(
      'INPUT_INVALID',
      `the call has come through ${came.length} agents, and may through ${depth - 1}`,
    );
  // Keyed, since others see it: it tells nothing of caller and context.
  const mark = deps.tokens.sentDigest(`call ${lane ?? taskId}`).slice(0, markMaxChars);
  if (lane !== undefined && came.includes(mark) && (await isBusy(deps, lane)))
    throw new EngineError('INPUT_INVALID', 'the call comes back into a context that waits for it');
  return [...came, mark];
}

async function isBusy(deps: Deps, digest: string): Promise<boolean> {
  const last = await (await deps.store.limitedStarts()).readPointer({ kind: 'lane', digest });
  return last !== undefined && (await lastUnderWay(deps, last.runId)) !== undefined;
}

/** @throws EngineError `INPUT_INVALID` */
function marksIn(given: JsonValue | undefined): readonly string[] {
  if (given === undefined) return [];
  if (isList(given) && given.length <= depthMax && given.every(isMark)) return given;
  throw new EngineError('INPUT_INVALID', `the chain of calls must be a list of at most ${depthMax} texts`);
}

function isMark(value: unknown): value is string {
  return typeof value === 'string' && value.length <= markMaxChars;
}
