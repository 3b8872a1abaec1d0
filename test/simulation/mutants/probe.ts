import { rules, testsIn, type Mutant } from './mutant.js';

const findLostStart = 'lib/operations/remote-task/find-lost-start.ts';
const lookForTask = 'lib/operations/remote-task/look-for-task.ts';
const find = 'lib/remote/a2a/find-task.ts';
const target = 'lib/operations/remote-task/remote-target.ts';
const task = (test: string) =>
  testsIn('test/unit/remote/a2a-find.test.ts', `the task of a start without an answer ${test}`);
const look = (test: string) =>
  testsIn('test/unit/remote/a2a-find.test.ts', `a look through the tasks of an agent ${test}`);

export const probeMutants: readonly Mutant[] = [
  {
    name: 'any-task-is-ours',
    rule: 'a task that is listed is ours if it shows our message, by its id (F62)',
    file: find,
    edits: [{ find: "message['messageId'] === messageId &&", replace: '' }],
    caughtBy: task('F62: is none that shows'),
  },
  {
    name: 'message-of-anybody-is-ours',
    rule: 'our message is one of a user (F62)',
    file: find,
    edits: [{ find: "(message['role'] === 'ROLE_USER' || message['role'] === 'user') &&", replace: '' }],
    caughtBy: task('F62: is none that shows'),
  },
  {
    name: 'message-of-another-task-is-ours',
    rule: 'a message that names another task is of that one (F62)',
    file: find,
    edits: [{ find: "[undefined, null, '', id].includes(message['taskId']),", replace: 'true,' }],
    caughtBy: task('F62: is none that shows'),
  },
  {
    name: 'first-of-two-tasks-taken',
    rule: 'of two tasks that show our message none is taken (F62)',
    file: find,
    edits: [{ find: 'if (second !== undefined)', replace: 'if (only === undefined && second !== undefined)' }],
    caughtBy: task('F62: is not taken where two tasks'),
  },
  {
    name: 'twin-on-a-later-page-unseen',
    rule: 'all that is looked through counts before a task is taken (F62)',
    file: find,
    edits: [
      {
        find: 'const pageToken = result[',
        replace: "if (this.#ours.size > 0) return 'whole'; const pageToken = result[",
      },
    ],
    caughtBy: task('F62: is not taken where two tasks'),
  },
  {
    name: 'unusable-id-taken-from-a-list',
    rule: 'a task whose id cannot be kept is not taken (F62)',
    file: find,
    edits: [
      {
        find: "return handle === undefined ? unknown('the task has no usable id') : { kind: 'found', handle };",
        replace: "return { kind: 'found', handle: handle ?? { ...origin, taskId: String(only['id']) } };",
      },
    ],
    caughtBy: task('F62: is not taken under an id'),
  },
  {
    name: 'submitted-tasks-not-looked-through',
    rule: 'where there are more tasks than are looked through, those that are submitted are looked through too (F62)',
    file: find,
    edits: [{ find: "all === 'whole' ? all : await", replace: "all === 'whole' || all === 'part' ? all : await" }],
    caughtBy: task('F62: is found among the submitted'),
  },
  {
    name: 'more-pages-than-the-limit',
    rule: 'a look goes through so many pages and no more (F62)',
    file: find,
    edits: [{ find: 'pages < taskListPagesMax', replace: 'pages < taskListPagesMax + 1' }],
    caughtBy: look('F62: goes through so many pages'),
  },
  {
    name: 'list-in-circles-followed',
    rule: 'a page is read once (F62)',
    file: find,
    edits: [{ find: '|| tokens.has(pageToken)', replace: '' }],
    caughtBy: look('F62: ends where the agent gives'),
  },
  {
    name: 'page-begun-out-of-time',
    rule: 'no page is begun when the time of a look is over (F62)',
    file: find,
    edits: [{ find: '(this.#pagesRead === 0 || this.#hasTime())', replace: 'true' }],
    caughtBy: look('F62: begins no page'),
  },
  {
    name: 'large-page-asked-for-again',
    rule: 'a page that is more than can be read is asked for with fewer tasks (F62)',
    file: find,
    edits: [{ find: 'Math.ceil(this.#pageSize / 5)', replace: 'this.#pageSize' }],
    caughtBy: look('F62: asks for less'),
  },
  {
    name: 'failed-page-skipped',
    rule: 'a page that fails says nothing of what it would have shown (F62)',
    file: find,
    edits: [
      {
        find: 'if (!isErrorOf(failure, refusedCodes) && !isAbsent(failure, this.#to))',
        replace: 'if (this.#pagesRead === 0 && !isErrorOf(failure, refusedCodes) && !isAbsent(failure, this.#to))',
      },
    ],
    caughtBy: look('F62: says nothing where a page fails'),
  },
  {
    name: 'passing-404-ends-the-look',
    rule: 'a path that is not there says over HTTP+JSON alone that nothing is listed (F62)',
    file: find,
    edits: [
      {
        find: "binding === 'HTTP+JSON' && 'status' in failure",
        replace: "binding !== undefined && 'status' in failure",
      },
    ],
    caughtBy: look('F62: is over at once'),
  },
  {
    name: 'refused-page-ends-the-look',
    rule: 'what was shown counts where a later page is refused (F62)',
    file: find,
    edits: [
      {
        find: "return this.#pagesRead > 0 ? 'part' : listsNothing(failure);",
        replace: 'return listsNothing(failure);',
      },
    ],
    caughtBy: look('F62: goes by what it was shown'),
  },
  {
    name: 'server-without-lists-asked-again',
    rule: 'a server that does not list its tasks is asked once (F62)',
    file: lookForTask,
    edits: [{ find: `if (reply?.kind === 'unsupported') return failHelpless(attempt, reply.error);`, replace: '' }],
    caughtBy: rules('probing', 'F62 asked for by itself: a server that tells nobody'),
  },
  {
    name: 'perhaps-taken-for-no',
    rule: 'a server that may be able to tell is asked (F62)',
    file: target,
    edits: [{ find: 'finds !== false && transport.find', replace: 'finds === true && transport.find' }],
    caughtBy: rules('probing', 'F62 asked for by itself: the task of a process'),
  },
  {
    name: 'perhaps-taken-for-yes',
    rule: 'a task that only may be found again is cancelled when no store takes its handle (F03, F62)',
    file: target,
    edits: [{ find: 'dedupes || (mayLook && finds === true)', replace: 'dedupes || mayLook' }],
    caughtBy: rules('probing', 'F03, F62 handle that the store turns away: its task is cancelled'),
  },
  {
    name: 'found-task-cancelled',
    rule: 'a task that was found is found again (F03, F62)',
    file: lookForTask,
    edits: [{ find: 'isFoundAgain: true', replace: 'isFoundAgain: target.isFoundAgain' }],
    caughtBy: rules('probing', 'F03, F62 handle that the store turns away: a task that was found'),
  },
  {
    name: 'lost-start-asked-of-a-server-that-lists-nothing',
    rule: 'a server that lists no tasks is not asked again for the task of a closed wait (F62)',
    file: findLostStart,
    edits: [{ find: "if (reply?.kind === 'unsupported') return 'none';", replace: '' }],
    caughtBy: rules('letting-go', 'lost start at a server that turns out'),
  },
];
