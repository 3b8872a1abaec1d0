import { rules, testsIn, type Mutant, storePart } from './mutant.js';

const workerWait = 'lib/decide/worker-wait.ts';
const findLostStart = 'lib/operations/remote-task/find-lost-start.ts';
const callServer = 'lib/operations/remote-task/call-server.ts';
const begin = 'lib/operations/turn/begin.ts';
const commits = 'lib/operations/turn/commit.ts';
const worker = 'lib/operations/remote-task/make-remote-start.ts';
const start = 'lib/operations/remote-task/start-remote-task.ts';
const stop = 'lib/operations/remote-task/stop-remote.ts';
const protection = 'lib/remote/guard/protection.ts';
const engine = 'test/engine/patient-starts.test.ts';

export const patientMutants: readonly Mutant[] = [
  {
    name: 'worker-start-claimed-twice',
    rule: 'a claim of a worker is on the due instant that it read (F62)',
    file: storePart('worker-starts'),
    edits: [
      {
        find: 'conditions: [notSettled, noHandle, attemptIs(attempt), workerAttemptIs(attempt), dueStill(seenDueAtMs)],',
        replace: 'conditions: [notSettled, noHandle, attemptIs(attempt), workerAttemptIs(attempt)],',
      },
    ],
    caughtBy: rules('patient', 'F62 claim: of two workers'),
  },
  {
    name: 'worker-start-on-a-settled-wait',
    rule: 'a worker calls for no wait that is settled (F62)',
    file: storePart('worker-starts'),
    edits: [
      {
        find: 'conditions: [notSettled, noHandle, attemptIs(attempt), workerAttemptIs(attempt), dueStill(seenDueAtMs)],',
        replace: 'conditions: [noHandle, attemptIs(attempt), workerAttemptIs(attempt)],',
      },
    ],
    caughtBy: rules('patient', 'F62 a wait that is closed before the call'),
  },
  {
    name: 'worker-start-without-marker',
    rule: 'a hand-over has a marker: its message may be lost (F62)',
    file: start,
    edits: [{ find: 'undefined : { attempt }, dueAtMs: workerDueAtMs }', replace: 'undefined : { attempt } }' }],
    caughtBy: rules('patient', 'F62 message: one that is lost'),
  },
  {
    name: 'worker-start-repeated',
    rule: 'a claim that was left behind is a start of unknown fate (F62)',
    file: worker,
    edits: [
      {
        find: 'if (!found.target.mayRepeat) return leave(await lostStart(attempt, ownerGone(command)), claim);',
        replace: '',
      },
    ],
    caughtBy: rules('patient', 'F62 death after the call'),
  },
  {
    name: 'turn-calls-beside-a-worker',
    rule: 'while a worker has a start, no turn makes it (F62)',
    file: begin,
    edits: [{ find: 'if (run.isWithWorker(wait)) return true;', replace: '' }],
    caughtBy: rules('patient', 'F62 hand-over: no turn looks at it'),
  },
  {
    name: 'worker-start-ends-twice',
    rule: 'what a start came to is on the item, so a lost commit takes it back into no hand (F62)',
    file: commits,
    edits: [{ find: 'events.filter((event) => !run.isOnItem(event))', replace: 'events' }],
    caughtBy: rules('patient', 'F62 what came of a start is in the log once'),
  },
  {
    name: 'worker-start-without-news',
    rule: 'what a start came to is due at once: its wake may be lost (F62)',
    file: storePart('worker-starts'),
    edits: [
      {
        find: 'set: { ...workerStartFields.write({ came }), ...marker(runId, dueAtMs) },',
        replace: `set: workerStartFields.write({ came }), remove: ['dueShard', 'dueAtMs'],`,
      },
    ],
    caughtBy: rules('patient', 'F62 an attempt that was not processed'),
  },
  {
    name: 'worker-start-second-word',
    rule: 'the first word on an attempt stands (F62)',
    file: storePart('worker-starts'),
    edits: [{ find: 'workerClaimIs(claim), nothingCame,', replace: 'workerClaimIs(claim),' }],
    caughtBy: rules('conditions', 'workerStarts.record only under the claim'),
  },
  {
    name: 'worker-start-past-its-deadline',
    rule: 'the deadline of a wait is checked, however long its worker counts as alive (F62)',
    file: worker,
    edits: [{ find: 'const dueAtMs = Math.min(untilMs, deadlineAtMs);', replace: 'const dueAtMs = untilMs;' }],
    caughtBy: rules('patient', 'F62 deadline: it ends the wait'),
  },
  {
    name: 'worker-start-looked-for-at-once',
    rule: 'the task of a call that is under way is its worker to deal with (F62)',
    file: stop,
    edits: [{ find: "if (token.handle === undefined && isCalling(token, atMs)) return 'later';", replace: '' }],
    caughtBy: rules('patient', 'F62 a wait that is closed during the call'),
  },
  {
    name: 'worker-start-dropped-untold',
    rule: 'a worker notes that it has cancelled an unwanted task, or the start is made again to find it (F62)',
    file: 'lib/operations/remote-task/record-handle.ts',
    edits: [{ find: 'if (byWorker === true)', replace: 'if (byWorker === undefined)' }],
    caughtBy: rules('patient', 'F62 a wait that is closed during the call'),
  },
  {
    name: 'worker-start-in-a-pause',
    rule: 'a paused run begins no start (F62)',
    file: workerWait,
    edits: [{ find: "=== undefined ? wait : 'paused';", replace: '=== undefined ? wait : wait;' }],
    caughtBy: rules('patient', 'F62 pause: a start that no worker has begun'),
  },
  {
    name: 'worker-start-in-time-of-a-turn',
    rule: 'the answer to a start of a worker may take as long as the call allows (F62)',
    file: callServer,
    edits: [
      {
        find: 'untilMs: start.callUntilMs,',
        replace: '',
      },
    ],
    caughtBy: testsIn(engine, 'a server that answers a start only when its work is done (F62, F75) may name'),
  },
  {
    name: 'stream-start-repeated',
    rule: 'a start over a stream whose process died is repeated only where the agent dedupes (F62)',
    file: 'lib/operations/remote-task/remote-target.ts',
    edits: [{ find: 'mayRepeat: dedupes, mayLook,', replace: 'mayRepeat: true, mayLook,' }],
    caughtBy: testsIn(
      'test/engine/stream-starts.test.ts',
      'F62 whatever call a process dies at, there is no second task and a right end or none that is known: a worker, an agent that knows no repeat',
    ),
  },
  {
    name: 'stream-start-in-a-turn-repeated',
    rule: '... whether a worker made it or a turn (F62)',
    file: 'lib/operations/remote-task/remote-target.ts',
    edits: [{ find: 'mayRepeat: dedupes, mayLook,', replace: 'mayRepeat: true, mayLook,' }],
    caughtBy: testsIn(
      'test/engine/stream-starts.test.ts',
      'F62 whatever call a process dies at, there is no second task and a right end or none that is known: a turn, an agent that is asked for its task',
    ),
  },
  {
    name: 'worker-start-ambiguous-at-deadline',
    rule: 'the deadline ends a wait whose start has no answer by then, and says so (F67)',
    file: worker,
    edits: [{ find: 'if (isOver && isOpen) {', replace: 'if (isOver && isOpen && !isOver) {' }],
    caughtBy: testsIn(
      engine,
      'a server that answers a start only when its work is done (F62, F75) is waited for until',
    ),
  },
  {
    name: 'patient-start-with-the-limits-of-others',
    rule: 'all of the time of a start may pass before its answer (F75)',
    file: 'lib/remote/endpoint/endpoint.ts',
    edits: [
      {
        find: '...defined({ limits: patient === true ? { headersMs: timeoutMs, totalMs: timeoutMs } : undefined }),',
        replace: '',
      },
    ],
    caughtBy: testsIn('test/unit/remote/patient.test.ts', 'a start for which there is time (F62, F75) over A2A'),
  },
  {
    name: 'plain-tool-in-a-turn',
    rule: 'a tool that does not run as a task is not answered at once (F75)',
    file: 'lib/remote/mcp/mcp-transport.ts',
    edits: [{ find: 'return found.tasks === false ? false :', replace: 'return found.tasks === false ? undefined :' }],
    caughtBy: testsIn('test/unit/remote/patient.test.ts', 'what an MCP server says of its pace of 2026-07-28'),
  },
  {
    name: 'slot-shorter-than-its-start',
    rule: 'a place at a server is held for as long as a start of a worker may take (F62)',
    file: 'lib/remote/guard/slots.ts',
    edits: [{ find: 'untilMs: Math.max(nowMs, untilMs) + leaseMs', replace: 'untilMs: nowMs + leaseMs' }],
    caughtBy: testsIn(engine, 'a start that is held back by the limits of its server'),
  },
  {
    name: 'prompt-by-an-end',
    rule: 'a quick end shows nothing of how the next start is answered (F62)',
    file: protection,
    edits: [
      { find: "untilMs !== undefined && kind === 'started'", replace: 'untilMs !== undefined && kind !== undefined' },
    ],
    caughtBy: testsIn(engine, 'a server that names its running task at once is not taken for prompt'),
  },
  {
    name: 'prompt-for-ever',
    rule: 'a server is no longer prompt at its first slow answer (F62)',
    file: protection,
    edits: [{ find: 'if (tookMs > startPromptMs) await guard.sawPrompt(false); else if', replace: 'if' }],
    caughtBy: testsIn(engine, 'a server that names its running task at once is forgotten'),
  },
  {
    name: 'lost-start-looked-for-in-a-turn',
    rule: 'a start that is made again to learn of its task has the time that a start takes (F62)',
    file: stop,
    edits: [{ find: ' || !(await mayTakeMinutes(deps, lost.command))', replace: ' || lost.mayRepeat' }],
    caughtBy: rules('patient', 'F62 lost start of a closed wait: a worker looks'),
  },
  {
    name: 'lost-start-looked-for-twice',
    rule: 'of two workers that look for one task one calls (F62)',
    file: storePart('unwanted-tasks'),
    edits: [
      {
        find: 'conditions: [itemExists, isSettled, noHandle, dueStill(seenDueAtMs)],',
        replace: 'conditions: [itemExists, isSettled, noHandle],',
      },
    ],
    caughtBy: rules('patient', 'F62 lost start of a closed wait: of two workers'),
  },
  {
    name: 'turn-looks-beside-a-worker',
    rule: 'while a worker looks for a task no turn has it looked for again (F62)',
    file: stop,
    edits: [{ find: 'if ((lookUntilMs ?? 0) > nowMs) return true;', replace: 'void lookUntilMs;' }],
    caughtBy: rules('patient', 'F62 lost start of a closed wait: of two workers'),
  },
  {
    name: 'look-without-an-answer-waits-for-its-claim',
    rule: 'a look that got no answer is made again a minute later (F62)',
    file: 'lib/operations/remote-task/stop-lost-start.ts',
    edits: [
      {
        find: 'await persist(() => deps.store.unwantedTasks.claimLook(runId, waitId, { seenDueAtMs: claimedUntilMs, untilMs }));',
        replace: 'void untilMs;',
      },
    ],
    caughtBy: rules('patient', 'F62 lost start of a closed wait: without an answer'),
  },
  {
    name: 'look-that-finds-nothing-is-made-for-ever',
    rule: 'a start that is known to have left no task is done with (F62)',
    file: 'lib/operations/remote-task/stop-lost-start.ts',
    edits: [
      {
        find: "if (found === 'none') await persist(() => deps.store.tokens.clearMarker(runId, waitId, claimed));",
        replace: '',
      },
    ],
    caughtBy: rules('patient', 'F62 lost start of a closed wait: one that names no task'),
  },
  {
    name: 'boot-leaves-starts-to-their-claims',
    rule: 'a start that a dead process had claimed is looked for when the next process begins (F74)',
    file: 'lib/operations/sweep/fan-out-due.ts',
    edits: [
      {
        find: 'nowMs + (atBoot ? Math.max(sweepIntervalMs, startPatienceMs + startTakeMs) : sweepIntervalMs)',
        replace: 'nowMs + sweepIntervalMs',
      },
    ],
    caughtBy: testsIn(
      engine,
      'a server that answers a start only when its work is done (F62, F75) F74 is looked at anew',
    ),
  },
  {
    name: 'found-handle-lost-to-the-store',
    rule: 'the handle of a task that was looked for is stored until the store takes it (F62)',
    file: findLostStart,
    edits: [
      {
        find: 'await persist(() => deps.store.unwantedTasks.leaveHandle(runId, waitId, handle, forCancel), turnReserveMs, lastTries)',
        replace:
          'await deps.store.unwantedTasks.leaveHandle(runId, waitId, handle, forCancel); void [persist, turnReserveMs, lastTries]',
      },
    ],
    caughtBy: rules('patient', 'F62 lost start of a closed wait: a store that'),
  },
];
