import { rules, type Mutant, storePart } from './mutant.js';

const nextRun = 'lib/operations/turn/next-run.ts';
const inbox = 'lib/operations/requests/inbox.ts';
const pass = 'lib/operations/turn/pass.ts';
const rest = 'lib/operations/turn/rest.ts';
const newEvents = 'lib/decide/new-events.ts';
const runTurn = 'lib/operations/turn/run-turn.ts';
const failedTurn = 'lib/operations/turn/failed-turn.ts';

export const requestsMutants: readonly Mutant[] = [
  {
    name: 'requests-by-clock',
    rule: 'requests act in the order in which they were accepted, whatever the clocks of their senders say (F89)',
    file: newEvents,
    edits: [{ find: `(a.position ?? 0) - (b.position ?? 0) || byTimeAndOrder(a, b)`, replace: `byTimeAndOrder(a, b)` }],
    caughtBy: rules('requests', 'F89 order of acceptance'),
  },
  {
    name: 'request-without-position',
    rule: 'a request reads how many were accepted before it (F89)',
    file: inbox,
    edits: [{ find: `runId, position: head.inboxCount }`, replace: `runId }` }],
    caughtBy: rules('requests', 'F89 order of acceptance'),
  },
  {
    name: 'request-in-the-future',
    rule: 'nothing has happened later than now (F89)',
    file: newEvents,
    edits: [{ find: `Math.max(atMs, Math.min(item.atMs, nowMs))`, replace: `Math.max(atMs, item.atMs)` }],
    caughtBy: rules('requests', 'F89 time of acceptance'),
  },
  {
    name: 'pause-not-held',
    rule: 'a turn that takes in a pause begins nothing more (F80)',
    file: pass,
    edits: [
      {
        find: 'if (pausedUntilMs(run, this.#pass.nowMs()) !== undefined) return this.#pause(); const events',
        replace: 'const events',
      },
    ],
    caughtBy: rules('requests', 'F80 pause during a turn'),
  },
  {
    name: 'pause-goes-round',
    rule: 'a paused turn waits for what is under way, not for what was due before it last looked (F80)',
    file: pass,
    edits: [
      {
        find: 'for (;;) { this.#lookedAtMs = this.#pass.nowMs(); const terminate',
        replace: 'for (;;) { const terminate',
      },
    ],
    caughtBy: rules('requests', 'F80 pause during a turn: a timer'),
  },
  {
    name: 'paused-past-its-deadline',
    rule: 'the deadline of the run ends a paused turn (F80)',
    file: pass,
    edits: [
      {
        find: 'if (this.#isOverdue()) return commitEnd(this.#pass, this.#newEvents(), runTimedOut(run.head.workflow));',
        replace: '',
      },
    ],
    caughtBy: rules('requests', 'F80 pause during a turn: the deadline'),
  },
  {
    name: 'resumed-before-the-end-of-the-pause',
    rule: 'a run goes on by itself only when the pause is over (F80)',
    file: pass,
    edits: [{ find: `untilMs !== undefined && untilMs <= nowMs &&`, replace: `untilMs !== undefined &&` }],
    caughtBy: rules('requests', 'F80 end of a paused run'),
  },
  {
    name: 'standing-marker-not-stamped',
    rule: 'a marker that is to stand carries the seq of the log as it is (F81)',
    file: rest,
    edits: [
      {
        find: 'marker.dueAtMs !== undefined && run.head.dueSeq < run.state.seq',
        replace: 'marker.dueAtMs !== dueAtMs && run.head.dueSeq < run.state.seq',
      },
    ],
    caughtBy: rules('requests', 'F81 marker that stands'),
  },
  {
    name: 'unheard-cancel-dropped',
    rule: 'a cancel that reached no wait is given to the run that the chain goes on as (F82)',
    file: nextRun,
    edits: [{ find: `|| unheard.has(inboxId)`, replace: `` }],
    caughtBy: rules('requests', 'F82 cancel taken in with the end'),
  },
  {
    name: 'heard-cancel-handed-on',
    rule: 'a cancel is heard once (F82)',
    file: 'lib/replay/cancels.ts',
    edits: [{ find: `this.#waits.hasPendingCancel ? this.#pending : []`, replace: `true ? this.#pending : []` }],
    caughtBy: rules('requests', 'F82 cancel that was heard'),
  },
  {
    name: 'next-run-named-late',
    rule: 'the run that a chain goes on as is named as soon as the outcome is fixed (F82)',
    file: storePart('log'),
    edits: [{ find: 'dueSeq: commit.seq, nextRunId: nextRunIn(outcome) })', replace: 'dueSeq: commit.seq })' }],
    caughtBy: rules('requests', 'F82 between the ending'),
  },
  {
    name: 'next-run-not-waited-for',
    rule: 'a request waits for the head of the next run (F82)',
    file: inbox,
    edits: [
      { find: `if (deps.clock.nowMs() >= untilMs) return 'next_not_found';`, replace: `return 'next_not_found';` },
    ],
    caughtBy: rules('requests', 'F82 between the ending'),
  },
  {
    name: 'taking-unbounded',
    rule: 'one commit takes in what one commit holds (F85)',
    file: newEvents,
    edits: [
      {
        find: `if (events.length > 0 && bytes > commitTargetBytes) break; events.push(event);`,
        replace: `events.push(event);`,
      },
    ],
    caughtBy: rules('requests', 'F85 many signals'),
  },
  {
    name: 'end-with-a-cut-taking',
    rule: 'all that was accepted is in the log before the run can end (F85)',
    file: pass,
    edits: [
      {
        find: `execution.status.kind === 'ended' && this.#isCut`,
        replace: `execution.status.kind === 'ended' && run.state.seq < 0`,
      },
    ],
    caughtBy: rules('requests', 'F85 an end with more'),
  },
  {
    name: 'next-run-before-all-is-handed-on',
    rule: 'the head of the next run is put when all that is handed on is there (F85)',
    file: nextRun,
    edits: [
      {
        find: `if (!(await seedInbox(deps, nextRunId, handedOn, limits))) return false;`,
        replace: `await seedInbox(deps, nextRunId, handedOn, limits);`,
      },
    ],
    caughtBy: rules('requests', 'F85 handing on'),
  },
  {
    name: 'terminate-needs-a-readable-run',
    rule: 'a terminate always ends a run (F85)',
    file: failedTurn,
    edits: [{ find: `if (await isStopped(deps, runId, limits)) return;`, replace: `void isStopped;` }],
    caughtBy: rules('requests', 'F85 terminate'),
  },
  {
    name: 'wake-of-ended-run-reads-all',
    rule: 'a wake of an ended run reads the head first (F87)',
    file: runTurn,
    edits: [{ find: `if (pass === 0 && (await isOver(deps, runId, news))) return;`, replace: `void isOver;` }],
    caughtBy: rules('requests', 'F87 wakes left over'),
  },
  {
    name: 'wake-of-the-sweep-dropped',
    rule: 'a wake without news looks for markers wherever they stand (F87)',
    file: runTurn,
    edits: [
      {
        find: `news === undefined || deps.warmRuns?.hasEnded(runId) !== true`,
        replace: `deps.warmRuns?.hasEnded(runId) !== true`,
      },
    ],
    caughtBy: rules('requests', 'F87 wakes left over'),
  },
  {
    name: 'failing-turns-not-counted',
    rule: 'a turn that throws the same way three times blocks the run (F21)',
    file: failedTurn,
    edits: [{ find: `if (count < failedTurnsMax) throw error;`, replace: `if (count > 0) throw error;` }],
    caughtBy: rules('requests', 'F21 a turn that throws'),
  },
  {
    name: 'failing-turns-never-forgotten',
    rule: 'a turn that ends well ends the row of those that threw (F21)',
    file: rest,
    edits: [{ find: `|| failedTurns !== undefined`, replace: `|| failedTurns?.count === 0` }],
    caughtBy: rules('requests', 'F21 turns that throw'),
  },
  {
    name: 'client-may-throw',
    rule: 'a client of a remote server that throws has taught nothing (F83)',
    file: 'lib/remote/guard/protection.ts',
    edits: [
      { find: `onThrown(error); const name`, replace: `onThrown(error); if (kind !== 'done') throw error; const name` },
    ],
    caughtBy: rules('requests', 'F83 a client that throws'),
  },
  {
    name: 'conflicts-soon-given-up',
    rule: 'a write that meets other transactions is sent again for as long as a request may take (F09)',
    file: 'lib/store/dynamodb/conflicts.ts',
    edits: [{ find: `pausedMs > storeConflictPatienceMs`, replace: `pausedMs > storeConflictPatienceMs / 20` }],
    caughtBy: { kind: 'rules', file: 'test/package/bench/requests-at-once.test.ts', test: 'F09' },
  },
];
