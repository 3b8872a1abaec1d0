import { rules, testsIn, type Mutant } from './mutant.js';

export const freshMutants: readonly Mutant[] = [
  {
    name: 'moved-deadline-refuses',
    rule: 'a deadline that was moved before the wait was settled as timed out leaves it to the settler',
    file: 'lib/operations/settle-in-time.ts',
    edits: [{ find: 'if (late.timedOut || late.token?.settlement !== undefined) return', replace: 'return' }],
    caughtBy: rules('deadlines', 'settled in time after all'),
  },
  {
    name: 'look-recorded-twice',
    rule: 'a look for a task that the log has is dropped from what is in hand',
    file: 'lib/operations/turn/effects.ts',
    edits: [{ find: 'isNext(wait, event) && event.look === (wait.look ?? 0) + 1', replace: 'isNext(wait, event)' }],
    caughtBy: rules('starting', 'asked for: a look that another turn has made'),
  },
  {
    name: 'failure-of-lost-claim-settles',
    rule: 'the failure of an attempt settles the step only under its claim',
    file: 'lib/operations/steps/run-long-step.ts',
    edits: [{ find: `failed(event.error), { kind: 'writerIs', writerId: claim })`, replace: 'failed(event.error))' }],
    caughtBy: rules('long-step-attempts', 'failure of an attempt whose worker was taken for dead'),
  },
  {
    name: 'buffered-tick-overtaken',
    rule: 'a tick that waits goes before those that come after it',
    file: 'lib/operations/schedules/tick-schedules.ts',
    edits: [
      {
        find: `overlap === 'buffer' && waitingTickAtMs !== undefined;`,
        replace: `overlap === 'buffer' && waitingTickAtMs !== undefined && runId !== undefined;`,
      },
    ],
    caughtBy: testsIn(
      'test/engine/schedules.test.ts',
      'a schedule (EN 22) with overlap "buffer" starts the tick that waits before a later one',
    ),
  },
  {
    name: 'paused-schedule-waits',
    rule: 'a paused schedule has nothing to start',
    file: 'lib/operations/schedules/tick-schedules.ts',
    edits: [
      {
        find: 'state.waitingTickAtMs === undefined || state.pausedAtMs !== undefined',
        replace: 'state.waitingTickAtMs === undefined',
      },
    ],
    caughtBy: testsIn('test/engine/schedules.test.ts', 'a schedule (EN 22) that is paused has nothing to start'),
  },
  {
    name: 'saga-not-undone-before-the-end',
    rule: 'a saga that the workflow has heard of changes nothing at its end',
    file: 'lib/replay/ending.ts',
    edits: [
      { find: 'if (this.#settled !== undefined) this.#notUndone ??= error;', replace: 'this.#notUndone ??= error;' },
    ],
    caughtBy: testsIn('test/engine/sagas.test.ts', 'a saga that was not undone and was heard of'),
  },
  {
    name: 'ending-chain-is-over',
    rule: 'a run whose outcome is fixed is under way until it has ended',
    file: 'lib/operations/chain.ts',
    edits: [{ find: `return status === 'running' || status === 'ending';`, replace: `return status === 'running';` }],
    caughtBy: rules('names', 'F11 a run whose outcome is fixed'),
  },
  {
    name: 'unstarted-task-young-by-request',
    rule: 'an item without the instant of its start counts from the end of its wait',
    file: 'lib/decide/bad-read.ts',
    edits: [{ find: '(startedAtMs ?? settlement?.atMs ?? createdAtMs)', replace: '(startedAtMs ?? createdAtMs)' }],
    caughtBy: rules('deciding', 'young task'),
  },
  {
    name: 'retry-now-leaves-answers',
    rule: 'retry now is for the answers to servers too',
    file: 'lib/history/run-state.ts',
    edits: [
      { find: `wait.kind === 'remoteTask' || wait.kind === 'remoteAnswer')`, replace: `wait.kind === 'remoteTask')` },
    ],
    caughtBy: rules('deciding', 'retry now'),
  },
  {
    name: 'late-handler-drops-call',
    rule: 'a handler that fails outside of a turn lets nothing go on there',
    file: 'lib/replay/context/remote-progress.ts',
    edits: [{ find: 'if (!host.position.isAdvancing) return; const thrown', replace: 'const thrown' }],
    caughtBy: testsIn(
      'test/engine/questions.test.ts',
      'a remote task that asks (GB-02) whose handler fails outside of a turn',
    ),
  },
  {
    name: 'held-start-before-retry',
    rule: 'a start that was held back and then refused waits for its pause',
    file: 'lib/operations/turn/run-in-hand.ts',
    edits: [{ find: 'Math.max(heldUntilMs, wait.retryAtMs ?? 0)', replace: 'heldUntilMs' }],
    caughtBy: testsIn(
      'test/engine/server-protection.test.ts',
      'a start on a server that is left alone and then turned away',
    ),
  },
  {
    name: 'old-failure-counts',
    rule: 'turns that failed in the same way count for a day',
    file: 'lib/operations/turn/failed-turn.ts',
    edits: [
      {
        find: 'last?.cause === cause && atMs - last.atMs < failedTurnsWindowMs',
        replace: 'last?.cause === cause && atMs - last.atMs < 2 * failedTurnsWindowMs',
      },
    ],
    caughtBy: rules('requests', 'F21 turns that throw the same way, a day after'),
  },
  {
    name: 'handed-on-without-place',
    rule: 'what is handed on keeps its place',
    file: 'lib/operations/turn/next-run.ts',
    edits: [
      {
        find: 'store.inbox.seed({ ...item, runId, position });',
        replace: 'store.inbox.seed({ ...item, runId, position: 0 * position });',
      },
    ],
    caughtBy: rules('requests', 'handing on: unread signals stay in the order'),
  },
  {
    name: 'ending-run-never-blocked',
    rule: 'a run that cannot end counts as blocked like any other',
    file: 'lib/operations/turn/failed-turn.ts',
    edits: [{ find: `(head.status !== 'running' && head.status !== 'ending')`, replace: `head.status !== 'running'` }],
    caughtBy: rules('requests', 'F21 a turn that throws the same way three times while its run ends'),
  },
  {
    name: 'long-step-closed-twice',
    rule: 'a long step that is not in the log yet will end by its settlement',
    file: 'lib/replay/waits/requests.ts',
    edits: [
      {
        find: 'this.#longSteps.has(command.waitId) || (Number(command.waitId) > this.#lastRecorded && command.policy.long)',
        replace: 'this.#longSteps.has(command.waitId)',
      },
    ],
    caughtBy: testsIn('test/engine/long-steps.test.ts', 'a long step whose race is over before the log has it'),
  },
  {
    name: 'answer-without-time',
    rule: 'no answer is sent without the time for its request and the write after it',
    file: 'lib/operations/turn/begin.ts',
    edits: [{ find: 'if (limits.remainingMs() < answerReserveMs) return false;', replace: '' }],
    caughtBy: testsIn('test/engine/questions.test.ts', 'a remote task that asks (GB-02) is answered by a later turn'),
  },
  {
    name: 'attach-is-looked-for-at-stop',
    rule: 'a task that another party has started is not looked for by a start',
    file: 'lib/operations/remote-task/find-lost-start.ts',
    edits: [{ find: `if (request.kind === 'attach') return 'none';`, replace: '' }],
    caughtBy: rules('turns', 'task of somebody else whose take-over was cut off'),
  },
  {
    name: 'missing-child-token-unseen',
    rule: 'the token of a child that was started is there, or the run is blocked',
    file: 'lib/operations/turn/run-turn.ts',
    edits: [{ find: 'return wait.started;', replace: 'return false;' }],
    caughtBy: testsIn(
      'test/engine/missing-items.test.ts',
      'a run of which an item is gone (F08) F08 is blocked, and does not wait for ever, when the item of a child',
    ),
  },
  {
    name: 'missing-token-unseen',
    rule: '... and so is that of a token that was given out',
    file: 'lib/operations/turn/run-turn.ts',
    edits: [{ find: 'return wait.issued;', replace: 'return false;' }],
    caughtBy: testsIn(
      'test/engine/missing-items.test.ts',
      'a run of which an item is gone (F08) F08 is blocked, and does not wait for ever, when the item of a token',
    ),
  },
  {
    name: 'error-backoff-below-hint',
    rule: 'a failing read does not shorten the pause that the server asks for',
    file: 'lib/decide/poll.ts',
    edits: [
      {
        find: 'const usualMs = Math.max(pollIntervalMs(nowMs - token.createdAtMs), pollHint(token.pollHintMs));',
        replace: 'const usualMs = pollIntervalMs(nowMs - token.createdAtMs);',
      },
    ],
    caughtBy: rules('deciding', 'read after one that failed'),
  },
  {
    name: 'deadline-before-terminate',
    rule: 'a terminate goes before a deadline, also where the turn cannot go on',
    file: 'lib/operations/turn/end-stopped.ts',
    edits: [
      {
        find: 'terminateIn(inbox, deps.clock.nowMs()) ?? timeoutOf(head, deps.clock.nowMs())',
        replace: 'timeoutOf(head, deps.clock.nowMs()) ?? terminateIn(inbox, deps.clock.nowMs())',
      },
    ],
    caughtBy: rules('requests', 'F85 terminate: of a run whose turn cannot go on'),
  },
  {
    name: 'blocked-past-deadline-at-once',
    rule: 'a blocked run whose deadline has passed, and that could not be ended, backs off like any other',
    file: 'lib/decide/deadline.ts',
    edits: [
      {
        find: 'return deadlineAtMs > nowMs ? Math.min(retryAtMs, deadlineAtMs) : retryAtMs;',
        replace: 'return Math.min(retryAtMs, deadlineAtMs);',
      },
    ],
    caughtBy: rules('deciding', 'next look at a blocked run'),
  },
  {
    name: 'interrupted-after-failure',
    rule: 'strikes end with their attempt',
    file: 'lib/history/run-state.ts',
    edits: [
      {
        find: 'begun: 0, interrupted: 0, failedAttempts: event.attempt,',
        replace: 'begun: 0, failedAttempts: event.attempt,',
      },
    ],
    caughtBy: rules('deciding', 'starts of a step that died'),
  },
  {
    name: 'look-stays-after-failure',
    rule: 'a start that was refused is not looked for',
    file: 'lib/history/run-state.ts',
    edits: [
      {
        find: 'look: undefined, failedAttempts: event.attempt, retryAtMs',
        replace: 'failedAttempts: event.attempt, retryAtMs',
      },
    ],
    caughtBy: rules('deciding', 'start of unknown fate'),
  },
  {
    name: 'newer-form-in-refusal-read',
    rule: 'a transaction that is refused because of an item of a newer form says so',
    file: 'lib/store/sealed-table.ts',
    edits: [{ find: 'for (const part of result.refused) checkFormat(part?.old);', replace: '' }],
    caughtBy: rules('items', 'item of a newer form: a transaction'),
  },
  {
    name: 'tokens-closed-with-waits',
    rule: 'a wait with a token is open until its settlement is in the log',
    file: 'lib/history/run-state.ts',
    edits: [
      { find: 'if (!this.openTokens.has(waitId)) this.open.delete(waitId);', replace: 'this.open.delete(waitId);' },
    ],
    caughtBy: rules('deciding', 'waits that are closed'),
  },
  {
    name: 'heard-cancels-handed-on',
    rule: 'a cancel that the workflow has heard is not handed on',
    file: 'lib/replay/cancels.ts',
    edits: [{ find: 'if (!this.#waits.hasPendingCancel) this.#pending = [];', replace: '' }],
    caughtBy: rules('requests', 'handing on: a cancel that the workflow has heard'),
  },
  {
    name: 'announced-by-another',
    rule: 'a step runs under a start of its own turn, the last one in the log',
    file: 'lib/operations/turn/effects.ts',
    edits: [
      {
        find: 'announced.attempt === failedAttempts + 1 && announced.begun === begun;',
        replace: 'announced.attempt === failedAttempts + 1 && begun >= 0;',
      },
    ],
    caughtBy: rules('deciding', 'start of a step that is announced'),
  },
];
