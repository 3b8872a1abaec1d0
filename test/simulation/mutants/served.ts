import { type Mutant, rules, storePart, testsIn } from './mutant.js';

const mutant = (
  name: string,
  rule: string,
  file: string,
  [find, replace]: readonly [string, string],
  caughtBy: string | Mutant['caughtBy'],
): Mutant => ({
  name: `served-${name}`,
  rule,
  file,
  edits: [{ find, replace }],
  caughtBy: typeof caughtBy === 'string' ? testsIn('test/engine/serve/tasks.test.ts', caughtBy) : caughtBy,
});

const conversation = (test: string) =>
  testsIn('test/engine/serve/conversations.test.ts', `a conversation with a served workflow ${test}`);
const follower = (test: string) => testsIn('test/engine/serve/followers.test.ts', `a follower of a task ${test}`);
const scene = (test: string) => rules('served', test);
const fold = 'lib/serve/task/fold-task.ts';
const followUp = 'lib/operations/serve/follow-up.ts';
const watch = 'lib/operations/serve/watch-task.ts';
const tasks = 'lib/operations/serve/tasks.ts';

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
  mutant(
    'open-question-stays',
    'a question of a run that has continued is closed',
    fold,
    ['const wasAsking = this.#open.message !== undefined;\n    this.#open.clear();', 'const wasAsking = false;'],
    conversation('shows no question of a run that has continued without its answer'),
  ),
  mutant(
    'answer-with-the-end',
    'an answer that is taken in with the end of a run is shown',
    fold,
    ['for (const inboxId of this.#answers.values()) keep(this.#history, messageOf(inboxId));', ''],
    testsIn('test/unit/serve/fold-task.test.ts', 'an answer that a run takes in with its end'),
  ),
  mutant(
    'replies-without-messages',
    'a reply that waited shows the messages that came meanwhile',
    watch,
    ['await withMessages(deps, newer, fold);', 'newer;'],
    conversation('is shown whole by the reply that waited for the end of the task'),
  ),
  mutant(
    'answered-question-shown',
    'a wait after an answer goes on until the answer is taken in',
    watch,
    ['?.settlement === undefined) return true;', '!== undefined) return true;'],
    conversation('is shown whole by the reply that waited for the end of the task'),
  ),
  mutant(
    'repeat-answers-anew',
    'a message that an earlier run has taken does not answer the question of a later one',
    followUp,
    ['if (task.head.runId !== taskId && (await isKnown(deps, taskId, record))) return undefined;', ''],
    conversation('takes a repeated answer as what it was, also when a later run asks the next question'),
  ),
  mutant(
    'answer-names-nothing',
    'an answer that names its question is refused once that is closed',
    followUp,
    ['ifGenerationMatch !== task.fold.generation)', 'ifGenerationMatch < 0)'],
    scene('an answer that names an older question is refused'),
  ),
  mutant(
    'answer-renamed',
    '... also if it meets a run that continues',
    followUp,
    [
      'decided anew.\n      return followUp(deps, request);',
      'decided anew.\n      return followUp(deps, { taskId: request.taskId, message: request.message });',
    ],
    scene('an answer that names its question is not the answer to that of the next run'),
  ),
  mutant(
    'answer-over-answer',
    'an answer is taken only if the question is open',
    storePart('served-tasks'),
    ['conditions: [itemExists, notSettled, notOverdue(settlement.atMs)],', 'conditions: [itemExists],'],
    scene('of two answers at once one is taken, and the other is told'),
  ),
  mutant(
    'answer-without-id',
    'an answer puts an inbox item under the id of its message',
    storePart('served-tasks'),
    ["{ kind: 'put', item: inboxItem(record), conditions: [itemAbsent] },", ''],
    scene('an answer that is sent twice at once is taken once, and both are told so'),
  ),
  mutant(
    'answer-not-counted',
    'an answer is counted in the transaction that puts it: a run does not end without it',
    storePart('served-tasks'),
    ['increment: { inboxCount: 1 },', 'increment: {},'],
    scene('an answer that comes while its run ends is taken in before the end, or refused'),
  ),
  mutant(
    'cancel-of-an-ending-run',
    'a cancel that meets an ending run is told neither that the task works nor that it has ended',
    'lib/operations/serve/cancel-task.ts',
    ['(accepted && !isFinal(after.state))', '!isFinal(after.state)'],
    scene('a cancel that meets a run whose outcome is fixed is not acknowledged'),
  ),
  mutant(
    'message-of-an-ending-run',
    '... and so is a message',
    followUp,
    [
      'if (!isFinal(state) && current === runId) throw aboutToEnd();',
      "if (!isFinal(state) && current === runId) throw new EngineError('TASK_ENDED', 'it ends');",
    ],
    scene('a cancel that meets a run whose outcome is fixed is not acknowledged'),
  ),
  {
    name: 'served-known-start-refused',
    rule: 'a start whose head is there is known, whatever else refuses it',
    file: 'lib/operations/serve/start-task.ts',
    edits: [
      { find: 'if (known !== undefined) return { taskId: sameStart(known, sentDigest).runId };', replace: '' },
      { find: 'if (accepted === undefined) throw error;', replace: 'throw error;' },
    ],
    caughtBy: testsIn(
      'test/engine/serve/caps.test.ts',
      'served tasks under caps are known under their key, whatever refuses the repeat',
    ),
  },
  mutant(
    'state-of-the-head',
    'state, version and end of a stream come from the commits alone',
    tasks,
    [
      'Promise<ServedTask> => (await readTask(deps, taskId)).fold.task;',
      `Promise<ServedTask> => {
        const { fold, head } = await readTask(deps, taskId);
        const state = head.taskHint?.state ?? fold.state;
        return { ...fold.task, status: { ...fold.task.status, state } };
      };`,
    ],
    follower('is told what the log says, whatever the head says'),
  ),
  mutant(
    'cursor-again',
    'the cursor of a follower is a generation',
    tasks,
    ['if (event.generation > afterGeneration) yield event;', 'if (event.generation >= afterGeneration) yield event;'],
    follower('comes back after any change, and is sent those after it only, of a task that has ended too'),
  ),
  mutant(
    'stream-of-one-run',
    'a stream goes on in the next run',
    watch,
    ['while (!isFinal(fold.state)) {', 'while (!isFinal(fold.state) && fold.nextRunId === undefined) {'],
    follower('is told of each change once, in order, also by the next run'),
  ),
  mutant(
    'generation-begins-again',
    'the next run begins with the generation that the callers have seen',
    'lib/operations/turn/next-run.ts',
    ['generation: generationAfter({ ...head, task }, commits) };', 'generation: 1 };'],
    follower('counts on from what callers have seen when the run continues'),
  ),
  mutant(
    'context-not-queued',
    'a task is put with its place in its context',
    'lib/operations/serve/start-task.ts',
    [
      'const concurrencyKey = start.isQueued ? contextLane(deps, contextId) : undefined;',
      'const concurrencyKey = undefined;',
    ],
    'a served workflow runs the tasks of one context one after the other where the skill queues them',
  ),
];
