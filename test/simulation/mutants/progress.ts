import { rules, testsIn, type Mutant } from './mutant.js';

const pollReply = 'lib/operations/remote-task/poll-reply.ts';
const trail = 'lib/decide/task-trail.ts';
const engine = (name: string): Mutant['caughtBy'] => testsIn('test/engine/progress.test.ts', name);

/** What is seen of a remote task, and what a handler hears of it. */
export const progressMutants: readonly Mutant[] = [
  {
    name: 'overtaken-read-hops',
    rule: 'a change is recorded within the claim of its read: a worker that was overtaken sends nothing',
    file: pollReply,
    edits: [{ find: 'if (!recorded) return false;', replace: '' }],
    caughtBy: rules('polling', 'a change is recorded by the write that claims the next read'),
  },
  {
    name: 'change-not-claimed-ahead',
    rule: 'the write that records a change claims the next read',
    file: pollReply,
    edits: [{ find: 'isAhead ? claimUntilMs(token, nextAtMs) : nextAtMs', replace: 'nextAtMs' }],
    caughtBy: rules('polling', 'a change is recorded by the write that claims the next read'),
  },
  {
    name: 'lost-wake-of-change',
    rule: 'a read wakes the run for a change that no turn has taken in',
    file: pollReply,
    edits: [{ find: 'await tellOfChange(read, token.trail);', replace: '' }],
    caughtBy: engine('onProgress of a call hears of a change whose wake was lost'),
  },
  {
    name: 'change-never-taken',
    rule: 'a turn says which changes it has taken in: reads wake nobody for them any more',
    file: 'lib/operations/turn/rest.ts',
    edits: [{ find: 'await takeProgress(pass);', replace: 'void takeProgress;' }],
    caughtBy: engine('onProgress of a call costs a turn only where'),
  },
  {
    name: 'end-not-in-trail',
    rule: 'a settlement records the last state with it',
    file: pollReply,
    edits: [{ find: '{ ...settlement, ...defined({ trail }) }', replace: 'settlement' }],
    caughtBy: engine('the trail of a remote task'),
  },
  {
    name: 'change-heard-twice',
    rule: 'a change that the log has is not taken in again',
    file: trail,
    edits: [{ find: 'number > taken && ', replace: '' }],
    caughtBy: testsIn('test/unit/decide/task-trail.test.ts', 'what a handler hears of'),
  },
  {
    name: 'handlers-overlap',
    rule: 'a handler hears of one change at a time',
    file: 'lib/replay/context/remote-progress.ts',
    edits: [{ find: 'if (!isHearing) void hear();', replace: 'void hear();' }],
    caughtBy: engine('onProgress of a call hears one at a time'),
  },
  {
    name: 'each-change-published',
    rule: 'changes of a task are published at most once a minute',
    file: 'lib/history/run-state.ts',
    edits: [
      {
        find: 'publishedAtMs === undefined || atMs - publishedAtMs >= 60_000',
        replace: 'true || publishedAtMs === atMs',
      },
    ],
    caughtBy: engine('onProgress of a call publishes a change at most once a minute'),
  },
];
