import { rules, type Mutant } from './mutant.js';

const workerWait = 'lib/decide/worker-wait.ts';
const releaseMarkers = 'lib/operations/turn/release-markers.ts';
const commits = 'lib/operations/turn/commit.ts';
const beginStep = 'lib/operations/turn/begin-step.ts';
const rest = 'lib/operations/turn/rest.ts';
const effects = 'lib/operations/turn/effects.ts';
const pass = 'lib/operations/turn/pass.ts';
const begin = 'lib/operations/turn/begin.ts';
const runTurn = 'lib/operations/turn/run-turn.ts';
const runStep = 'lib/operations/steps/run-step.ts';
const runLongStep = 'lib/operations/steps/run-long-step.ts';
const recordHandle = 'lib/operations/remote-task/record-handle.ts';
const startRemoteTask = 'lib/operations/remote-task/start-remote-task.ts';
const inHand = (name: string): Mutant['caughtBy'] => rules('in-hand', name);
const stepTime = (name: string): Mutant['caughtBy'] => rules('step-time', name);

export const stepsMutants: readonly Mutant[] = [
  {
    name: 'commit-tried-once',
    rule: 'F02: a commit that the store turns away is tried again while there is time',
    file: commits,
    edits: [
      { find: 'const committed = await persist(write);', replace: 'void persist; const committed = await write();' },
    ],
    caughtBy: inHand('F02 is no attempt of the step'),
  },
  {
    name: 'given-up-by-throwing',
    rule: 'F02: a turn that gives up alive hands over: its message does not come again',
    file: runTurn,
    edits: [
      {
        find: 'if (isInHand) return giveUp(deps, runId, effects, error);',
        replace: 'if (isInHand) throw (error as Error).cause;',
      },
    ],
    caughtBy: inHand('F02 for longer than the turn has time: handed over without a strike'),
  },
  {
    name: 'unharmed-not-said',
    rule: 'F02: the turn that gives up says which starts are unharmed',
    file: runTurn,
    edits: [{ find: 'await handOver(deps, runId, effects.unharmed());', replace: 'await handOver(deps, runId, []);' }],
    caughtBy: inHand('F02 of an attempt that was announced'),
  },
  {
    name: 'unharmed-for-good',
    rule: 'F02: ... of the very start that it is about, not of a later one',
    file: beginStep,
    edits: [{ find: '&& start.begun === begun', replace: '' }],
    caughtBy: inHand('F02 only a process that died counts'),
  },
  {
    name: 'at-most-once-unharmed',
    rule: 'F02: a step that may run at most once and has run is not made again',
    file: beginStep,
    edits: [{ find: 'effects.begun(wait, !policy.atMostOnce);', replace: 'effects.begun(wait, true);' }],
    caughtBy: inHand('F02 does not have a step that may run at most once run again'),
  },
  {
    name: 'never-begun-is-a-strike',
    rule: 'F02: a start that was recorded and not made does not count',
    file: rest,
    edits: [
      { find: 'await wakeForRest(deps, runId, effects.unharmed());', replace: 'await wakeForRest(deps, runId, []);' },
    ],
    caughtBy: inHand('F02 a step that may run at most once and was announced'),
  },
  {
    name: 'steps-of-lost-pass-dropped',
    rule: 'F02: a step under way outlives a pass that lost its commit',
    file: effects,
    edits: [
      {
        find: 'this.abandonSteps((waitId, attempt) => stepAt(state, waitId, attempt) !== undefined);',
        replace: 'this.abandonSteps();',
      },
    ],
    caughtBy: inHand('F02 a pass whose commit was lost'),
  },
  {
    name: 'paused-with-work-in-hand',
    rule: 'F02: what is under way is recorded before a run rests',
    file: pass,
    edits: [
      {
        find: 'else if (effects.underWay > 0) await this.#someEffect(); else if (results.length === 0) break;',
        replace: 'else if (results.length === 0) break;',
      },
    ],
    caughtBy: stepTime('F02 a pass that lost its commit to a pause'),
  },
  {
    name: 'long-step-beats-end-early',
    rule: 'F02: ... and keeps its claim meanwhile',
    file: runLongStep,
    edits: [
      {
        find: 'return await record(deps, work, claim, ended);',
        replace: `done.abort('done'); return await record(deps, work, claim, ended);`,
      },
    ],
    caughtBy: inHand('F02 for 6 minutes: it ran once'),
  },
  {
    name: 'long-step-handed-over-with-strike',
    rule: 'F02: a worker that gives up alive is not a strike',
    file: runLongStep,
    edits: [{ find: 'isUnharmed && !command.policy.atMostOnce ? 1 : 0', replace: '0' }],
    caughtBy: inHand('F02 for longer than its worker has time'),
  },
  {
    name: 'long-step-at-most-twice',
    rule: 'F02: ... but one that may run at most once has run',
    file: runLongStep,
    edits: [{ find: 'isUnharmed && !command.policy.atMostOnce ? 1 : 0', replace: 'isUnharmed ? 1 : 0' }],
    caughtBy: inHand('F02 and that may run at most once'),
  },
  {
    name: 'effect-tried-once',
    rule: 'F88: an effect that the store turns away is tried again beside the others',
    file: 'lib/operations/turn/issue-token.ts',
    edits: [
      { find: 'await persist(() => deps.store.tokens.put(fresh));', replace: 'await deps.store.tokens.put(fresh);' },
    ],
    caughtBy: inHand('F88 an effect that the store turns away is tried again'),
  },
  {
    name: 'broken-effect-drops-results',
    rule: 'F88: what is under way ends and is committed before the turn throws',
    file: pass,
    edits: [
      {
        find: 'if (effects.underWay > 0) await this.#someEffect(); else if (effectError !== undefined)',
        replace:
          'if (effectError !== undefined) throw effectError; if (effects.underWay > 0) await this.#someEffect(); else if (effectError !== undefined)',
      },
    ],
    caughtBy: inHand('F88 what an effect breaks on'),
  },
  {
    name: 'findable-task-cancelled',
    rule: 'F03: a task that the next owner finds again is not cancelled',
    file: recordHandle,
    edits: [
      {
        find: 'const isLost = !(isFoundAgain && isStoreFailure(error));',
        replace: 'const isLost = isStoreFailure(error);',
      },
    ],
    caughtBy: inHand('F03 for longer than a turn has time, by a server that dedupes'),
  },
  {
    name: 'unwanted-step-goes-on',
    rule: 'F15: the signal of a step aborts when the step is no longer waited for',
    file: pass,
    edits: [{ find: 'effects.abandonSteps((waitId) => execution.command(waitId) !== undefined);', replace: '' }],
    caughtBy: stepTime('F15 aborts when its race is over'),
  },
  {
    name: 'aborted-before-commit',
    rule: 'F15: ... and not before that is in the log',
    file: pass,
    edits: [
      {
        find: 'for (const event of events) await execution.apply(event); if (execution',
        replace:
          'for (const event of events) await execution.apply(event); effects.abandonSteps((waitId) => execution.command(waitId) !== undefined); if (execution',
      },
    ],
    caughtBy: stepTime('F15 does not abort before'),
  },
  {
    name: 'attempt-beyond-deadline',
    rule: 'F16: the deadline of a step ends an attempt',
    file: runStep,
    edits: [
      { find: 'deps.delay(Math.min(timeoutMs, leftMs), done.signal)', replace: 'deps.delay(timeoutMs, done.signal)' },
    ],
    caughtBy: stepTime('F16 ends an attempt that is under way'),
  },
  {
    name: 'begun-after-deadline',
    rule: 'F16: no attempt begins after it',
    file: beginStep,
    edits: [
      {
        find: 'if (deadlineAtMs !== undefined && deadlineAtMs <= atMs) {',
        replace: 'if (deadlineAtMs !== undefined && deadlineAtMs <= 0) {',
      },
    ],
    caughtBy: stepTime('F16 begins no attempt after it'),
  },
  {
    name: 'run-timeout-once-per-turn',
    rule: 'F17: a run ends at its deadline, in the middle of a turn too',
    file: pass,
    edits: [
      {
        find: 'if (this.#isOverdue()) return commitEnd(this.#pass, events, runTimedOut(run.head.workflow));',
        replace: '',
      },
    ],
    caughtBy: stepTime('F17 ends it within a turn'),
  },
  {
    name: 'past-instants-waited-for',
    rule: 'F17: no loop without a wait',
    file: pass,
    edits: [
      {
        find: '.filter((atMs) => atMs > this.#lookedAtMs)',
        replace: '.map((atMs) => Math.max(atMs, this.#lookedAtMs + 1))',
      },
    ],
    caughtBy: stepTime('F17 no instant that nobody can act on'),
  },
  {
    name: 'retry-after-uncapped',
    rule: 'F23: the pause that an error asks for is a day at most',
    file: runStep,
    edits: [{ find: 'Math.min(Math.max(0, retryAfterMs), stepRetryAfterMaxMs)', replace: 'Math.max(0, retryAfterMs)' }],
    caughtBy: stepTime('F23 is a day at most'),
  },
  {
    name: 'getter-breaks-turn',
    rule: 'F23: what throws at a look is not there',
    file: runStep,
    edits: [
      {
        find: "const retryAfterMs = propertyOf(thrown, 'retryAfterMs');",
        replace: 'const { retryAfterMs } = thrown as { retryAfterMs?: unknown };',
      },
    ],
    caughtBy: stepTime('F23 is none when the error throws'),
  },
  {
    name: 'start-with-too-little-time',
    rule: 'F91: a start is not begun unless the sum of its limits fits',
    file: begin,
    edits: [{ find: 'if (limits.remainingMs() < startReserveMs) return false;', replace: '' }],
    caughtBy: stepTime('F91 a start that does not fit'),
  },
  {
    name: 'call-with-too-little-time',
    rule: 'F91: ... nor its call, when the claim took longer than it may',
    file: startRemoteTask,
    edits: [{ find: 'if (!hasTimeForCall(deps, start)) return putOff(attempt);', replace: '' }],
    caughtBy: stepTime('F91 a claim that took longer'),
  },
  {
    name: 'call-after-the-deadline',
    rule: 'no call begins after the deadline of its run or of its wait',
    file: startRemoteTask,
    edits: [{ find: '&& deps.clock.nowMs() < Math.min(wait.deadlineAtMs, runEndsAtMs)', replace: '' }],
    caughtBy: rules('starting', 'deadline of the run, or of the wait'),
  },
  {
    name: 'call-after-the-end-of-the-run',
    rule: '... of its run, which may come before that of its wait',
    file: startRemoteTask,
    edits: [{ find: 'Math.min(wait.deadlineAtMs, runEndsAtMs)', replace: 'wait.deadlineAtMs' }],
    caughtBy: rules('starting', 'deadline of the run, or of the wait'),
  },
  {
    name: 'long-attempt-after-the-deadline',
    rule: 'no attempt of a long step begins after the deadline of its run',
    file: workerWait,
    edits: [{ find: 'isPast(head.deadlineAtMs, nowMs) ||', replace: '' }],
    caughtBy: rules('long-step-attempts', 'attempt of a run whose deadline has passed'),
  },
  {
    name: 'long-attempt-of-a-terminated-run',
    rule: '... nor once the run is to be terminated',
    file: workerWait,
    edits: [{ find: "|| requests.some(({ kind }) => kind === 'terminate')", replace: '' }],
    caughtBy: rules('long-step-attempts', 'attempt of a run whose deadline has passed'),
  },
  {
    name: 'long-attempt-claimed-too-late',
    rule: '... nor when its claim was slow',
    file: runLongStep,
    edits: [{ find: "if (isPast(run.deadlineAtMs, deps.clock.nowMs())) return 'put off';", replace: '' }],
    caughtBy: rules('long-step-attempts', 'attempt of a run whose deadline passes'),
  },
  {
    name: 'cancel-with-too-little-time',
    rule: 'F91: ... nor a cancel',
    file: releaseMarkers,
    edits: [
      {
        find: 'if (limits.remainingMs() < (isToBeFound ? lostStartReserveMs : cancelReserveMs)) return false;',
        replace: 'void isToBeFound;',
      },
      { find: 'stopRemote(deps, token, limits)', replace: 'stopRemote(deps, token, { remainingMs: () => Infinity })' },
    ],
    caughtBy: stepTime('F91 a cancel that does not fit'),
  },
  {
    name: 'timer-held-until-the-step-ends',
    rule: 'what a pause has held back is taken in with the resume',
    file: pass,
    edits: [{ find: 'if (pausedUntilMs(run, atMs) === undefined) return false;', replace: '' }],
    caughtBy: stepTime('F14 a timer that was due during a pause'),
  },
  {
    name: 'handle-tried-once-beyond-the-time',
    rule: 'a handle that this process alone knows is tried a few times, whatever time is left',
    file: 'lib/operations/persist.ts',
    edits: [{ find: 'failures >= leastTries && ', replace: '' }],
    caughtBy: rules('gone', 'F06 handle of a start that was frozen beyond its time'),
  },
  {
    name: 'left-handle-not-stopped',
    rule: 'a task whose handle is left on a closed item is cancelled, whatever closed it',
    file: 'lib/decide/stop.ts',
    edits: [
      { find: 'if (settlement !== undefined && leftAtMs !== undefined) return true;', replace: 'void leftAtMs;' },
    ],
    caughtBy: rules('gone', 'handle that is left after the call was told to be ambiguous'),
  },
];
