import { type Mutant, testsIn } from './mutant.js';

const mutant = (
  name: string,
  rule: string,
  file: string,
  [find, replace]: readonly [string, string],
  test: string,
): Mutant => ({
  name: `served-${name}`,
  rule,
  file,
  edits: [{ find, replace }],
  caughtBy: testsIn(test.startsWith('a served task') ? deaths : tasks, test),
});

const deaths = 'test/replay/served-tasks.test.ts';
const tasks = 'test/engine/serve/tasks.test.ts';
const fold = 'lib/serve/task/fold-task.ts';
const followUp = 'lib/operations/serve/follow-up.ts';

/** Rules of served tasks: section 6 of the design of serving, and docs/decisions/0034. */
export const servedMutants: readonly Mutant[] = [
  mutant(
    'cancel-wins',
    'with a cancel in the log the task ends as canceled, whatever its workflow returns',
    'lib/operations/turn/commit.ts',
    [
      'return cancel === undefined && !run.state.cancelRequested ? outcome : cancelled(cancel ?? {});',
      'return outcome;',
    ],
    'a served workflow ends canceled once a cancel was acknowledged, whatever its workflow returns',
  ),
  mutant(
    'carried-once',
    'a message that an earlier run left unread is seen once',
    fold,
    ['if (carried === true) return [];', ''],
    'a served workflow reads further messages of its caller, in order, also after it has continued as a new run',
  ),
  mutant(
    'shown-after-item',
    'a question is shown once its item is there',
    fold,
    [
      "      case 'ExternalWaitIssued':\n        return this.#ask(event.waitId, event.atMs);",
      "      case 'ExternalWaitIssued':\n        return [];",
    ],
    'a served workflow asks its caller, who answers; the answer is in the history, and a repeat of it changes nothing',
  ),
  mutant(
    'along-chain',
    'the id of a message is looked for in all runs of the task',
    followUp,
    ['runId = (await deps.store.heads.glance(runId))?.nextRunId;', 'runId = undefined;'],
    'a served workflow reads further messages of its caller, in order, also after it has continued as a new run',
  ),
  mutant(
    'own-tasks',
    'a caller sees its own tasks only',
    'lib/operations/serve/read-task.ts',
    [
      'return owner === caller?.id && tenant === caller?.tenant;',
      'return tenant === caller?.tenant || owner === caller?.id;',
    ],
    'a served workflow is seen by its caller only',
  ),
  mutant(
    'continued-goes-on',
    'the end of a run that continues is not the end of its task',
    fold,
    ["if (outcome.status === 'continued') return wasAsking ? [this.#show('working', atMs)] : [];", ''],
    'a served workflow reads further messages of its caller, in order, also after it has continued as a new run',
  ),
];
