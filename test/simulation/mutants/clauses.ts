import { rules, testsIn, type Mutant } from './mutant.js';

const park = 'lib/operations/turn/park.ts';
const pass = 'lib/operations/turn/pass.ts';
const rest = 'lib/operations/turn/rest.ts';
const runInHand = 'lib/operations/turn/run-in-hand.ts';
const endRun = 'lib/operations/turn/end-run.ts';
const runLongStep = 'lib/operations/steps/run-long-step.ts';
const tickSchedules = 'lib/operations/schedules/tick-schedules.ts';
const endStopped = 'lib/operations/turn/end-stopped.ts';

const late = 'a deadline that has passed unseen F18 ends the wait for a child';

const lastWay = 'what a workflow asks for on its last way and does not wait for (F05)';

const remoteCall = 'lib/replay/context/remote-request.ts';
const attachRefused = 'a task that somebody else has started (GB-31) is refused before anything is asked: ';

const bodies = 'test/unit/remote/bodies.test.ts';

export const clausesMutants: readonly Mutant[] = [
  // ----- the end and the start of a child -----
  {
    name: 'late-child-end',
    rule: 'the end of a child comes too late for a wait whose deadline has passed',
    file: endRun,
    edits: [
      {
        find: 'await settleInTime(deps, head.parent, settlement);',
        replace: '{ timedOut: false, ...(await deps.store.tokens.settle(runId, waitId, settlement)) };',
      },
    ],
    caughtBy: testsIn('test/engine/deadlines.test.ts', `${late} that completes`),
  },
  {
    name: 'late-child-end-unheard',
    rule: '... and the process that finds that wakes the parent',
    file: endRun,
    edits: [{ find: 'if (settled || timedOut) await wakeRunFor', replace: 'if (settled) await wakeRunFor' }],
    caughtBy: testsIn('test/engine/deadlines.test.ts', `${late} that fails`),
  },
  {
    name: 'child-wakes-regardless',
    rule: 'the end of a child wakes its parent only if it has settled the wait',
    file: endRun,
    edits: [
      { find: 'if (settled || timedOut) await wakeRunFor', replace: 'if (settled !== undefined) await wakeRunFor' },
    ],
    caughtBy: rules('child-ends', 'end of a child wakes no parent'),
  },
  {
    name: 'late-child-start',
    rule: 'a refused start of a child comes too late for a wait whose deadline has passed',
    file: 'lib/operations/turn/start-child.ts',
    edits: [
      {
        find: 'settleInTime(deps, { runId, waitId: token.waitId }, settlement)',
        replace: 'deps.store.tokens.settle(runId, token.waitId, settlement)',
      },
    ],
    caughtBy: testsIn('test/engine/deadlines.test.ts', `${late} whose input is refused`),
  },

  // ----- schedules over a chain of runs -----
  {
    name: 'tick-sees-one-run',
    rule: 'a tick finds the run of the one before under way, as whatever that has gone on',
    file: tickSchedules,
    edits: [
      {
        find: 'return chain?.isUnderWay === true ?',
        replace: 'return chain?.isUnderWay === true && chain.head.runId === runId ?',
      },
    ],
    caughtBy: testsIn('test/engine/schedules.test.ts', 'a schedule (EN 22) counts a run that goes on as a new one'),
  },
  {
    name: 'tick-does-not-wait-for-the-next-run',
    rule: 'a tick starts nothing beside a chain that it could not ask to stop',
    file: tickSchedules,
    edits: [
      {
        find: 'if (runId !== undefined) await this.#stop(runId, overlap);',
        replace: 'if (runId !== undefined) await this.#stop(runId, overlap).catch(() => undefined);',
      },
    ],
    caughtBy: testsIn('test/engine/schedules.test.ts', 'a schedule (EN 22) with overlap "'),
  },

  // ----- requests to a run that cannot continue -----
  {
    name: 'pause-needs-the-workflow',
    rule: 'a blocked run is paused, whether its workflow is there or not',
    file: pass,
    edits: [
      {
        find: 'if (pausedUntilMs(run, nowMs) !== undefined) return this.#pause(); if (workflow === undefined)',
        replace: 'if (workflow === undefined)',
      },
    ],
    caughtBy: testsIn(
      'test/engine/blocked.test.ts',
      'a run that the deployed code does not fit (EN-14) is paused and goes on being blocked, and is looked at at once when somebody asks: ',
    ),
  },

  // ----- the timeout of a run that cannot continue -----
  {
    name: 'blocked-past-its-deadline',
    rule: 'a blocked run is handled when its deadline comes',
    file: 'lib/decide/deadline.ts',
    edits: [
      {
        find: 'return deadlineAtMs > nowMs ? Math.min(retryAtMs, deadlineAtMs) : retryAtMs;',
        replace: 'return retryAtMs;',
      },
    ],
    caughtBy: rules('run-deadlines', 'run deadline: ends a blocked run'),
  },
  {
    name: 'timeout-needs-a-readable-run',
    rule: 'the deadline of a run ends it, whatever of it cannot be read',
    file: endStopped,
    edits: [{ find: '?? timeoutOf(head, deps.clock.nowMs());', replace: ';' }],
    caughtBy: rules('run-deadlines', 'run deadline: ends a run of which nothing'),
  },
  {
    name: 'timeout-before-the-deadline',
    rule: '... and not before',
    file: endStopped,
    edits: [{ find: 'return deadlineAtMs <= nowMs ? {', replace: 'return deadlineAtMs < Infinity && nowMs > 0 ? {' }],
    caughtBy: rules('run-deadlines', 'run deadline: ends a run of which nothing'),
  },
  {
    name: 'stop-not-finished',
    rule: 'an unreadable run that was ended by its deadline comes to its end',
    file: endStopped,
    edits: [
      {
        find: "|| (outcome?.status === 'failed' && outcome.error.code === 'RUN_TIMED_OUT')",
        replace: '',
      },
    ],
    caughtBy: rules('run-deadlines', 'run deadline: a process that dies'),
  },

  {
    name: 'refused-rest-without-wake',
    rule: 'a run that rests, and whose marker is refused because of a block, is retried now',
    file: rest,
    edits: [
      {
        find: 'if (!isSet) await wakeRun(deps, runId); await clearAllMarkers(',
        replace: 'void isSet; await clearAllMarkers(',
      },
    ],
    caughtBy: rules('blocked-owners', 'wake after a refused marker: an owner of a delayed run'),
  },

  // ----- markers that an end may rely on -----
  {
    name: 'marker-of-another-owner',
    rule: 'an end does not count on a marker that the turn which took it in may still remove',
    file: runInHand,
    edits: [{ find: '(!isTaken || this.#takenHere.has(id))', replace: '(isTaken || id !== "")' }],
    caughtBy: rules('standing-markers', 'marker of another owner'),
  },
  {
    name: 'marker-of-its-own',
    rule: 'an end counts on the markers of what its own turn took in',
    file: runInHand,
    edits: [{ find: '(!isTaken || this.#takenHere.has(id))', replace: '(!isTaken || id === "")' }],
    caughtBy: rules('standing-markers', 'marker of its own'),
  },

  // ----- what is in progress when a run is blocked -----
  {
    name: 'step-left-alone',
    rule: 'what a step under way gives is in the log before its run is said to be blocked',
    file: park,
    edits: [
      {
        find: 'await effects.allEnd(); const { results } = effects;',
        replace: `await effects.allEnd('outside'); const { results } = effects;`,
      },
    ],
    caughtBy: rules('turns', 'turn that is blocked during a step'),
  },

  // ----- ids of tasks that a workflow takes over -----
  {
    name: 'attached-id-of-any-size',
    rule: 'the id of a task that is taken over is bounded at the call',
    file: remoteCall,
    edits: [{ find: "id === '' || utf8Bytes(id) > remoteIdMaxBytes", replace: "id === ''" }],
    caughtBy: testsIn('test/engine/remote-attach.test.ts', attachRefused),
  },
  {
    name: 'attached-id-ill-formed',
    rule: '... and well-formed text',
    file: remoteCall,
    edits: [{ find: 'if (!id.isWellFormed()) throw', replace: "if (id === '') throw" }],
    caughtBy: testsIn('test/engine/remote-attach.test.ts', attachRefused),
  },

  // ----- replies and clients of servers -----
  {
    name: 'agent-asked-for-any-id',
    rule: 'an id that no server can have given out is refused before the agent is asked (F83)',
    file: 'lib/remote/a2a/a2a-transport.ts',
    edits: [
      {
        find: 'if (!isUsableId(taskId) || !(contextId === undefined || isUsableId(contextId))) return unusableId;',
        replace: 'void unusableId;',
      },
    ],
    caughtBy: testsIn(bodies, 'F83 ids of tasks are refused before an agent is asked for '),
  },
  {
    name: 'thrown-start',
    rule: 'a client that throws at a start leaves its fate unknown (F83)',
    file: 'lib/remote/guard/protection.ts',
    edits: [
      {
        find: 'onThrown(error); const name',
        replace: "onThrown(error); if (kind === 'unknown') throw error; const name",
      },
    ],
    caughtBy: rules('requests', 'F83 a client that throws at a start'),
  },
  {
    name: 'events-that-are-no-objects',
    rule: 'an event that is not an object is not parsed, whatever it contains (F84)',
    file: 'lib/remote/rpc/json-rpc.ts',
    edits: [{ find: '|| !beginsLikeObject.test(data)', replace: '|| beginsLikeObject.test("")' }],
    caughtBy: testsIn(bodies, 'F84 an event stream full of '),
  },

  // ----- what is reported of a run -----
  {
    name: 'untaken-signals-hidden',
    rule: 'an accepted signal that no turn has taken in is listed as unread',
    file: 'lib/operations/views/show-run.ts',
    edits: [
      {
        find: '...untaken.filter(isSignal)]',
        replace: '...untaken.filter((item) => isSignal(item) && item.runId === item.inboxId)]',
      },
    ],
    caughtBy: testsIn(
      'test/engine/signals.test.ts',
      'a signal (EN-7) that no turn had taken in when its run was terminated is listed as unread, as each of ',
    ),
  },
  {
    name: 'winner-drops-in-silence',
    rule: 'what the winner of a race has just asked for and does not wait for is named (F05)',
    file: 'lib/replay/context/branches.ts',
    edits: [{ find: 'host.dropped.inRace(waits.openUnrecorded(winner));', replace: 'host.dropped.inRace([]);' }],
    caughtBy: testsIn('test/engine/last-way.test.ts', `${lastWay} F05 is named by the log when it is the winner`),
  },
  {
    name: 'failed-branch-named',
    rule: '... but not of a branch that fails (F05)',
    file: 'lib/replay/context/branches.ts',
    edits: [{ find: '() => (winner ??= scope)', replace: '() => (winner ??= scopes[at])' }],
    caughtBy: testsIn('test/engine/last-way.test.ts', `${lastWay} F05 is not named where the branch`),
  },
  {
    name: 'beat-after-the-end',
    rule: 'a worker sends no beat after the attempt has ended',
    file: runLongStep,
    edits: [{ find: "if (done.aborted) return 'lost';", replace: '' }],
    caughtBy: rules('long-steps', 'long step beat: none'),
  },
  {
    name: 'beats-go-on',
    rule: '... and does not wait for the next one either',
    file: runLongStep,
    edits: [{ find: "done.abort('done');", replace: '' }],
    caughtBy: rules('long-steps', 'long step beat: none'),
  },
  {
    name: 'log-of-a-replay',
    rule: 'the log of a workflow is silent while its history is replayed',
    file: 'lib/replay/context/reports.ts',
    edits: [
      { find: 'if (host.position.isLive) host.log[level](event, fields);', replace: 'host.log[level](event, fields);' },
    ],
    caughtBy: testsIn('test/replay/determinism.test.ts', 'ctx.log is silent'),
  },
  {
    name: 'unwatched-outcome-throws',
    rule: 'an outcome of a token that is not awaited rejects unseen',
    file: 'lib/replay/context/tokens.ts',
    edits: [
      {
        find: "Promise.race([host.news.tokenIssued(asked), outcome.then(() => '')])",
        replace: 'host.news.tokenIssued(asked)',
      },
    ],
    caughtBy: testsIn('test/engine/external-tokens.test.ts', 'outcome of a token that nobody waits for'),
  },
];
