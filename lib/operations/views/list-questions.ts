import { defined } from '../../base/defined.js';
import type { JsonValue } from '../../base/json.js';
import { jsonBytes } from '../../base/json-limit.js';
import { historyPageBytes } from '../../base/limits.js';
import type { Deps } from '../deps.js';
import { skipUnreadable } from '../skip-unreadable.js';
import { toInputViews, type QuestionView } from './question-view.js';

/** Questions of a page that are read concurrently; ten of them are less than 1 MiB. */
const inputsReadInParallel = 10;

/**
 * Lists open questions, oldest first; for a caller with a tenant, those of its tenant. Read from an index, so a question
 * may still show just after it was answered.
 * `limit` 1 to 100; a page of large ones ends sooner and has a next one. Leaves out unreadable ones, with a warning.
 */
export async function listQuestions(
  deps: Deps,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly inputs: readonly QuestionView[]; readonly cursor?: string }> {
  const inputs: QuestionView[] = [];
  let bytes = 0;
  let next = cursor;
  for (let left = limit; left > 0 && bytes < historyPageBytes; left -= inputsReadInParallel) {
    const page = await deps.store.lists.inputs(Math.min(left, inputsReadInParallel), next, deps.caller?.tenant);
    const tokens = await Promise.all(
      page.rows.map(({ runId, waitId }) =>
        skipUnreadable(deps, 'question', { runId, waitId }, () => deps.store.tokens.read(runId, waitId)),
      ),
    );
    const read = tokens.flatMap(toInputViews);
    inputs.push(...read);
    bytes += jsonBytes(read as unknown as JsonValue);
    next = page.cursor;
    if (next === undefined) break;
  }
  return { inputs, ...defined({ cursor: next }) };
}
