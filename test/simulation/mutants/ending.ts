import type { Mutant } from './mutant.js';

const engine = (file: string, test: string): Mutant['caughtBy'] => ({
  kind: 'rules',
  file: `test/engine/${file}.test.ts`,
  test,
});
const replay = (file: string, test: string): Mutant['caughtBy'] => ({
  kind: 'rules',
  file: `test/replay/${file}.test.ts`,
  test,
});

export const endingMutants: readonly Mutant[] = [
  {
    name: 'race-settles-with-debts',
    rule: 'A race settles after what it closed has done what it owes.',
    file: 'lib/replay/waits/debts.ts',
    edits: [{ find: 'scopes.every(({ owed }) => owed === 0)', replace: 'scopes.length > 0' }],
    caughtBy: engine('structured-end', 'a race F04 settles after'),
  },
  {
    name: 'scope-settles-with-debts',
    rule: 'A scope that was cancelled settles after what is owed in it.',
    file: 'lib/replay/context/scopes.ts',
    edits: [
      {
        find: 'if (inner.cancelledWith !== undefined) await waits.debts.paid(scope, [inner]);',
        replace: '',
      },
    ],
    caughtBy: engine('structured-end', 'a scope that was cancelled F04'),
  },
  {
    name: 'inner-race-is-no-debt',
    rule: 'A race that waits is owed by what is around it.',
    file: 'lib/replay/waits/debts.ts',
    edits: [{ find: 'const paid = around.owe();', replace: 'const paid = (): void => undefined;' }],
    caughtBy: engine('structured-end', 'a race F04 within a race'),
  },
  {
    name: 'end-drops-sagas',
    rule: 'The end of a run closes what runs beside its function, so that sagas are undone.',
    file: 'lib/replay/waits/waits.ts',
    edits: [
      {
        find: 'return this.cancelScope(this.root, error) > 0;',
        replace: 'this.root.cancelledWith = error; return false;',
      },
    ],
    caughtBy: engine('structured-end', 'the end of a run F04 closes'),
  },
  {
    name: 'end-with-debts',
    rule: 'A run does not end before nothing is owed.',
    file: 'lib/replay/ending.ts',
    edits: [{ find: 'waits.root.owed > 0 || ', replace: '' }],
    caughtBy: replay('structured-end', 'a history of rules 2 (F04, F19) does not hear of a cancel'),
  },
  {
    name: 'old-runs-under-new-rules',
    rule: 'A history keeps the rules of replay that it began with.',
    file: 'lib/replay/execution.ts',
    edits: [{ find: 'behaviors >= 2', replace: 'behaviors >= 1' }],
    caughtBy: replay('structured-end', 'a history that was begun under rules 1 (F04) goes on'),
  },
  {
    name: 'cancel-hides-what-is-not-undone',
    rule: 'A cancelled run reports what could not be undone, also by a saga that is no longer awaited.',
    file: 'lib/replay/ending.ts',
    edits: [
      {
        find: "if (outcome.status !== 'cancelled' || this.#notUndone === undefined) return outcome;",
        replace: 'if (this.#notUndone !== undefined) return outcome;\n    return outcome;',
      },
      {
        find: "return { status: 'failed', error: toStoredError(this.#notUndone, 'WORKFLOW_FAILED') };",
        replace: '',
      },
    ],
    caughtBy: engine('structured-end', 'the end of a run F04 says of a cancelled run'),
  },
  {
    name: 'end-rejections-are-bugs',
    rule: 'What the end of a run rejects, and is not awaited, counts as handled.',
    file: 'lib/process/drain.ts',
    edits: [
      {
        find: 'return quietly ? drainQuietly() : drain();',
        replace: 'return quietly && quietly !== true ? drainQuietly() : drain();',
      },
    ],
    caughtBy: engine('structured-end', 'the end of a run F04 rejects'),
  },
  {
    name: 'abandoned-child-of-the-last-way',
    rule: 'What outlives the run is started before it ends.',
    file: 'lib/replay/kinds/child.ts',
    edits: [{ find: "parentClose === 'abandon'", replace: 'false' }],
    caughtBy: engine(
      'last-way',
      'what a workflow asks for on its last way and does not wait for (F05) F05 is begun where it outlives the run: a child',
    ),
  },
  {
    name: 'left-call-of-the-last-way',
    rule: 'A handle that the end of the run waits for is worth a commit.',
    file: 'lib/operations/turn/pass.ts',
    edits: [{ find: ' && run.execution?.isLeaving !== true', replace: '' }],
    caughtBy: engine(
      'last-way',
      'what a workflow asks for on its last way and does not wait for (F05) F05 is begun where it outlives the run: a remote',
    ),
  },
  {
    name: 'dropped-in-silence',
    rule: 'What is dropped at the end is named by the log and by the test kit.',
    file: 'lib/replay/dropped-work.ts',
    edits: [{ find: 'this.#all = [...this.#all, ...dropped];', replace: '' }],
    caughtBy: engine(
      'last-way',
      'what a workflow asks for on its last way and does not wait for (F05) F05 is named by the log, once',
    ),
  },
  {
    name: 'missing-signal-is-empty',
    rule: 'A history whose signal is gone is not replayed as if it had been empty.',
    file: 'lib/operations/open-execution.ts',
    edits: [
      {
        find: "return item?.kind === 'signal' ? item : undefined;",
        replace: "return item?.kind === 'signal' ? item : {};",
      },
    ],
    caughtBy: engine('missing-items', 'a run of which an item is gone (F08) F08 is blocked and not led astray'),
  },
  {
    name: 'gap-in-the-log',
    rule: 'A commit that is missing blocks the run.',
    file: 'lib/history/run-state.ts',
    edits: [{ find: 'if (seq !== this.seq + 1)', replace: 'if (seq <= this.seq)' }],
    caughtBy: engine('missing-items', 'a run of which an item is gone (F08) F08 is blocked and not led astray'),
  },
  {
    name: 'end-of-the-log-is-gone',
    rule: 'A head that knows of later commits than there are blocks the run.',
    file: 'lib/operations/turn/run-turn.ts',
    edits: [{ find: 'if (head.dueSeq > state.seq)', replace: 'if (head.dueSeq > Infinity)' }],
    caughtBy: engine(
      'missing-items',
      'a run of which an item is gone (F08) F08 is blocked by the turn that finds the end of its log gone',
    ),
  },
  {
    name: 'missing-token-is-polled-by-nobody',
    rule: 'A token that the log says was put, and that is gone, blocks the run.',
    file: 'lib/operations/turn/run-turn.ts',
    edits: [{ find: 'return wait.handle !== undefined;', replace: 'return false;' }],
    caughtBy: engine('missing-items', 'a run of which an item is gone (F08) F08 is blocked and not led astray'),
  },
  {
    name: 'export-hides-a-missing-signal',
    rule: 'An export says that a signal is gone, so that its replay is refused.',
    file: 'lib/operations/views/read-history.ts',
    edits: [{ find: 'return { isMissing: true };', replace: 'return {};' }],
    caughtBy: engine('missing-items', 'a run of which an item is gone (F08) F08 answers no query'),
  },
  {
    name: 'closed-waits-stay',
    rule: 'A wait that is no longer waited for is closed in the log.',
    file: 'lib/history/run-state.ts',
    edits: [
      {
        find: 'if (!this.openTokens.has(waitId)) this.open.delete(waitId);',
        replace: 'if (this.openTokens.has(waitId)) this.open.delete(waitId);',
      },
    ],
    caughtBy: engine('closed-waits', 'a wait that the workflow no longer waits for (F19) F19 is not among'),
  },
  {
    name: 'closing-not-compared',
    rule: 'A closing in the history is compared with what the code closes.',
    file: 'lib/replay/execution.ts',
    edits: [
      {
        find: 'if (unclosed !== undefined) this.#blocked = closingMismatch(unclosed);',
        replace: 'if (unclosed !== undefined) return;',
      },
    ],
    caughtBy: replay('structured-end', 'a history of rules 2 (F04, F19) is blocked by code'),
  },
  {
    name: 'signals-keep-closed-waits',
    rule: 'A wait for a signal that is closed is forgotten by the signals.',
    file: 'lib/replay/execution.ts',
    edits: [
      {
        find: "if (command.kind === 'waitForSignal') this.#signals.forget(command.name, command.waitId);",
        replace: '',
      },
    ],
    caughtBy: replay('structured-end', 'a history of rules 2 (F04, F19) looks at'),
  },
];
