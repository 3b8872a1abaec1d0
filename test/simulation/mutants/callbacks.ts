import { testsIn, type Mutant } from './mutant.js';

const owe = 'lib/operations/turn/owe-pushes.ts';
const callback = 'lib/operations/serve/run-callback.ts';
const check = 'lib/operations/requests/check-callback.ts';
const calling = (test: string) => testsIn('test/engine/callbacks.test.ts', test);

export const callbacksMutants: readonly Mutant[] = [
  {
    name: 'callback-of-a-continued-run',
    rule: 'a run that goes on as another one has not ended',
    file: owe,
    edits: [{ find: "status === 'continued' || ", replace: '' }],
    caughtBy: calling('the callback of a start is told of the end of the last run'),
  },
  {
    name: 'callback-lost-on-the-way',
    rule: 'the callback belongs to the last run of the chain, under the id of the first',
    file: 'lib/operations/turn/next-run.ts',
    edits: [{ find: 'startedRunId: head.callback.startedRunId ?? head.runId', replace: 'startedRunId: head.runId' }],
    caughtBy: calling('the callback of a start is told of the end of the last run'),
  },
  {
    name: 'callback-after-the-markers',
    rule: 'what is owed is put before the markers of the run go',
    file: 'lib/operations/turn/end-run.ts',
    edits: [
      { find: '  await oweCallback(deps, head, state.ending);\n', replace: '' },
      {
        find: '    await deps.store.headMarkers.clear(runId, head.dueAtMs, outbox?.publishedSeq);',
        replace:
          '    await deps.store.headMarkers.clear(runId, head.dueAtMs, outbox?.publishedSeq).then(async () => oweCallback(deps, head, state.ending!));',
      },
    ],
    caughtBy: calling('the callback of a start is told whatever access'),
  },
  {
    name: 'callback-put-again',
    rule: 'what was owed once is not owed again',
    file: callback,
    edits: [
      {
        find: 'await store.put({ ...record, dueAtMs: atMs }, true);',
        replace: 'await store.put({ ...record, dueAtMs: atMs });',
      },
    ],
    caughtBy: calling('the callback of a start is owed once'),
  },
  {
    name: 'callback-without-outcome-limit',
    rule: 'a large outcome is not sent along',
    file: callback,
    edits: [{ find: '> outcomeMaxBytes ? undefined : outcome', replace: '< 0 ? undefined : outcome' }],
    caughtBy: calling('the callback of a start is told without the outcome'),
  },
  {
    name: 'callback-to-any-host',
    rule: 'callbacks go only to the hosts that the app allows',
    file: check,
    edits: [{ find: 'allowedHosts?.includes(new URL(url).host) === false', replace: 'allowedHosts?.length === 0' }],
    caughtBy: calling('a callback that cannot be used is refused before'),
  },
  {
    name: 'callback-to-any-address',
    rule: 'the address of a callback is checked at the start',
    file: 'lib/operations/push-url.ts',
    edits: [
      {
        find: '(await pushSender?.allows(url, options)) !== true',
        replace: 'pushSender === undefined',
      },
    ],
    caughtBy: calling('a callback that cannot be used is refused where'),
  },
];
