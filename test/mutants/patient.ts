import { rules, testsIn, type Mutant } from './mutant.js';

const turn = 'lib/operations/turn.ts';
const runStore = 'lib/store/run-store.ts';
const worker = 'lib/operations/make-remote-start.ts';
const start = 'lib/operations/start-remote-task.ts';
const stop = 'lib/operations/stop-remote.ts';
const protection = 'lib/remote/protection.ts';
const engine = 'test/engine/patient-starts.test.ts';

export const patientMutants: readonly Mutant[] = [
  {
    name: 'worker-start-claimed-twice',
    rule: 'a claim of a worker is on the due instant that it read (F62)',
    file: runStore,
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
    file: runStore,
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
    edits: [{ find: '{ workerStart: { attempt }, dueAtMs: workerDueAtMs }', replace: '{ workerStart: { attempt } }' }],
    caughtBy: rules('patient', 'F62 message: one that is lost'),
  },
  {
    name: 'worker-start-repeated',
    rule: 'a claim that was left behind is a start of unknown fate (F62)',
    file: worker,
    edits: [
      {
        find: 'if (!target.mayRepeat) return take(await lost(deps, start, number, target, token, ownerGone(command)), claim);',
        replace: '',
      },
    ],
    caughtBy: rules('patient', 'F62 death after the call'),
  },
  {
    name: 'turn-calls-beside-a-worker',
    rule: 'while a worker has a start, no turn makes it (F62)',
    file: turn,
    edits: [{ find: 'if (this.#isWithWorker(wait)) return true;', replace: '' }],
    caughtBy: rules('patient', 'F62 hand-over: no turn looks at it'),
  },
  {
    name: 'worker-start-ends-twice',
    rule: 'what a start came to is on the item, so a lost commit takes it back into no hand (F62)',
    file: turn,
    edits: [{ find: 'events.filter((event) => !this.#isOnItem(event))', replace: 'events' }],
    caughtBy: rules('patient', 'F62 what came of a start is in the log once'),
  },
  {
    name: 'worker-start-without-news',
    rule: 'what a start came to is due at once: its wake may be lost (F62)',
    file: runStore,
    edits: [
      {
        find: 'set: { ...items.cameAttribute(came), ...items.marker(runId, dueAtMs) },',
        replace: 'set: items.cameAttribute(came), remove: items.markerAttributes,',
      },
    ],
    caughtBy: rules('patient', 'F62 an attempt that was not processed'),
  },
  {
    name: 'worker-start-second-word',
    rule: 'the first word on an attempt stands (F62)',
    file: runStore,
    edits: [{ find: 'workerClaimIs(claim), nothingCame,', replace: 'workerClaimIs(claim),' }],
    caughtBy: rules('conditions', 'recordStart only under the claim'),
  },
  {
    name: 'worker-start-past-its-deadline',
    rule: 'somebody looks at the deadline of a wait, however long its worker counts as alive (F62)',
    file: worker,
    edits: [{ find: 'dueAtMs: Math.min(untilMs, deadlineAtMs) }),', replace: 'dueAtMs: untilMs }),' }],
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
    file: 'lib/operations/take-handle.ts',
    edits: [{ find: 'if (byWorker === true)', replace: 'if (byWorker === undefined)' }],
    caughtBy: rules('patient', 'F62 a wait that is closed during the call'),
  },
  {
    name: 'worker-start-in-a-pause',
    rule: 'a paused run begins no start (F62)',
    file: 'lib/operations/asked-of-worker.ts',
    edits: [{ find: "=== undefined ? wait : 'paused';", replace: '=== undefined ? wait : wait;' }],
    caughtBy: rules('patient', 'F62 pause: a start that no worker has begun'),
  },
  {
    name: 'worker-start-in-time-of-a-turn',
    rule: 'the answer to a start of a worker may take as long as the call allows (F62)',
    file: start,
    edits: [
      {
        find: '...(start.callUntilMs === undefined ? {} : { untilMs: start.callUntilMs }),',
        replace: '',
      },
    ],
    caughtBy: testsIn(engine, 'a server that answers a start only when its work is done (F62, F75) may name'),
  },
  {
    name: 'stream-start-repeated',
    rule: 'a start over a stream whose process died is repeated only where the agent dedupes (F62)',
    file: 'lib/operations/remote-target.ts',
    edits: [{ find: 'mayRepeat: dedupes, mayLook,', replace: 'mayRepeat: true, mayLook,' }],
    caughtBy: testsIn(
      'test/engine/stream-starts.test.ts',
      'F62 whatever call a process dies at, there is no second task and a right end or none that is known: a worker, an agent that knows no repeat',
    ),
  },
  {
    name: 'stream-start-in-a-turn-repeated',
    rule: '... whether a worker made it or a turn (F62)',
    file: 'lib/operations/remote-target.ts',
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
    file: 'lib/remote/endpoint.ts',
    edits: [
      { find: '...(patient === true ? { limits: { headersMs: timeoutMs, totalMs: timeoutMs } } : {})', replace: '' },
    ],
    caughtBy: testsIn('test/remote/patient.test.ts', 'a start for which there is time (F62, F75) over A2A'),
  },
  {
    name: 'plain-tool-in-a-turn',
    rule: 'a tool that does not run as a task is not answered at once (F75)',
    file: 'lib/remote/mcp/client.ts',
    edits: [{ find: 'return found.tasks === false ? false :', replace: 'return found.tasks === false ? undefined :' }],
    caughtBy: testsIn('test/remote/patient.test.ts', 'what an MCP server says of its pace of 2026-07-28'),
  },
  {
    name: 'slot-shorter-than-its-start',
    rule: 'a place at a server is held for as long as a start of a worker may take (F62)',
    file: 'lib/remote/server-guard.ts',
    edits: [
      {
        find: 'untilMs: Math.max(atMs, longestUntilMs) + serverSlotLeaseMs',
        replace: 'untilMs: atMs + serverSlotLeaseMs',
      },
    ],
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
];
