import { testsIn, type Mutant } from './mutant.js';

const someTests = 'test/engine/some.test.ts';
const infoTests = 'test/engine/run-info.test.ts';

/** Rules of what a workflow calls. */
export const workflowMutants: readonly Mutant[] = [
  {
    name: 'some-leaves-branches-open',
    rule: 'ctx.some closes the other branches once it is decided',
    file: 'lib/replay/context/some.ts',
    edits: [{ find: 'branches.close();', replace: '' }],
    caughtBy: testsIn(someTests, 'ctx.some closes the other branches then'),
  },
  {
    name: 'some-needs-one-more',
    rule: '... which it is with the result that makes them enough',
    file: 'lib/replay/context/some.ts',
    edits: [{ find: 'if (results.length === needed)', replace: 'if (results.length === needed + 1)' }],
    caughtBy: testsIn(someTests, 'ctx.some gives the first results'),
  },
  {
    name: 'some-waits-for-all-failures',
    rule: '... or with the failure that leaves too few',
    file: 'lib/replay/context/some.ts',
    edits: [
      {
        find: 'else if (failures.length === ends.length - needed + 1)',
        replace: 'else if (failures.length === ends.length)',
      },
    ],
    caughtBy: testsIn(someTests, 'ctx.some fails as soon as too few can still succeed'),
  },
  {
    name: 'some-hides-a-cancel',
    rule: 'a cancel of the run is not the failure of a branch',
    file: 'lib/replay/context/some.ts',
    edits: [{ find: 'if (cancel !== undefined) return cancel.error;', replace: 'void cancel;' }],
    caughtBy: testsIn(someTests, 'ctx.some lets a cancel of the run through'),
  },
  {
    name: 'info-of-another-key',
    rule: 'ctx.info gives the key that the server of a call receives',
    file: 'lib/replay/call-key.ts',
    edits: [
      {
        find: 'return key ?? remoteKeyOf(runId, waitId, digest);',
        replace: 'return remoteKeyOf(runId, waitId, digest);',
      },
    ],
    caughtBy: testsIn(infoTests, 'the idempotency key of a remote call, asked of the workflow is that of the workflow'),
  },
];
