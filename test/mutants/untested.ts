import { rules, type Mutant } from './mutant.js';

const turn = 'lib/operations/turn.ts';
const pollTask = 'lib/operations/poll-task.ts';
const runStore = 'lib/store/run-store.ts';
const stopRemote = 'lib/operations/stop-remote.ts';
const requestLongStep = 'lib/operations/request-long-step.ts';
const heartbeatToken = 'lib/operations/heartbeat-token.ts';

export const untestedMutants: readonly Mutant[] = [
  // ----- deadlines and claims -----
  {
    name: 'delivery-not-compared',
    rule: 'a recorded delivery of a signal is compared with what the code does now',
    file: 'lib/replay/execution.ts',
    edits: [{ find: '!this.#signals.takeRecorded(event)', replace: '(this.#signals.takeRecorded(event), false)' }],
    caughtBy: rules('replaying', 'signal delivery'),
  },
  {
    name: 'poll-times-out-regardless',
    rule: 'a poll ends a wait only if its deadline is the one that was read',
    file: pollTask,
    edits: [
      {
        find: `by === 'timeout' && deadlineAtMs !== undefined ? { onlyIfDeadlineIs: deadlineAtMs } : {}`,
        replace: '{}',
      },
    ],
    caughtBy: rules('deadlines', 'timeout only at the deadline that was read'),
  },
  {
    name: 'turn-times-out-regardless',
    rule: '... and so does a turn',
    file: turn,
    edits: [{ find: 'const options = { onlyIfDeadlineIs: deadlineAtMs };', replace: 'const options = {};' }],
    caughtBy: rules('deadlines', 'timeout only at the deadline that was read'),
  },
  {
    name: 'deadline-not-a-condition',
    rule: '... by a condition of the settlement',
    file: runStore,
    edits: [{ find: '[deadlineIs(options.onlyIfDeadlineIs)]', replace: '[]' }],
    caughtBy: rules('deadlines', 'timeout only at the deadline that was read'),
  },
  {
    name: 'heartbeat-for-child',
    rule: 'a heartbeat moves no deadline of a child',
    file: heartbeatToken,
    edits: [{ find: 'known.child !== undefined ||', replace: '' }],
    caughtBy: rules('deadlines', 'no heartbeat for a child'),
  },
  {
    name: 'heartbeat-for-remote-task',
    rule: '... of a remote task',
    file: heartbeatToken,
    edits: [{ find: 'known.server !== undefined ||', replace: '' }],
    caughtBy: rules('deadlines', 'no heartbeat for a remote task'),
  },
  {
    name: 'heartbeat-for-long-step',
    rule: '... or of a long step',
    file: heartbeatToken,
    edits: [{ find: 'known.step !== undefined ||', replace: '' }],
    caughtBy: rules('deadlines', 'no heartbeat for a long step'),
  },
  {
    name: 'refused-marker-without-wake',
    rule: 'a marker that is refused because of a block is made up for by a wake',
    file: turn,
    edits: [{ find: 'if (!isSet) await wakeRun(this.#deps, runId);', replace: '' }],
    caughtBy: rules('blocked-owners', 'wake after a refused marker'),
  },

  // ----- long steps -----
  {
    name: 'retry-now-over-lease',
    rule: 'a request to retry now leaves an attempt alone that is under way',
    file: requestLongStep,
    edits: [{ find: 'strikes > 0 ||', replace: '' }],
    caughtBy: rules('long-step-requests', 'retry now and a lease'),
  },
  {
    name: 'retry-now-for-ever',
    rule: 'a request to retry now is for what waited then',
    file: requestLongStep,
    edits: [{ find: 'sinceMs > askedAtMs ||', replace: '' }],
    caughtBy: rules('long-step-requests', 'retry now once'),
  },
  {
    name: 'interrupted-regardless',
    rule: 'an interrupted long step ends only at the due instant that was read',
    file: 'lib/operations/run-long-step.ts',
    edits: [{ find: 'failure(error), { onlyIfDueIs: token.dueAtMs }', replace: 'failure(error), {}' }],
    caughtBy: rules('long-step-requests', 'interrupted long step'),
  },
  {
    name: 'due-not-a-condition',
    rule: '... by a condition of the settlement',
    file: runStore,
    edits: [{ find: '[dueStill(options.onlyIfDueIs)]', replace: '[]' }],
    caughtBy: rules('long-step-requests', 'interrupted long step'),
  },

  // ----- what nobody waits for -----
  {
    name: 'abandoned-child-stopped',
    rule: 'a child that is to be abandoned begins though its parent is gone',
    file: turn,
    edits: [{ find: `wait.child.parentClose === 'abandon' ||`, replace: '' }],
    caughtBy: rules('letting-go', 'child and its parent’s end: one that is to be abandoned'),
  },
  {
    name: 'lost-start-asked-once',
    rule: 'a start of unknown fate is asked for again when its wait was closed',
    file: stopRemote,
    edits: [
      {
        find: `if (handle === 'unknown') return givesUp ? {} : 'later';`,
        replace: `if (handle === 'unknown') return {};`,
      },
    ],
    caughtBy: rules('letting-go', 'lost start asked for again'),
  },
  {
    name: 'lost-start-asked-for-ever',
    rule: '... for a day',
    file: stopRemote,
    edits: [
      {
        find: `if (handle === 'unknown') return givesUp ? {} : 'later';`,
        replace: `if (handle === 'unknown') return 'later';`,
      },
    ],
    caughtBy: rules('letting-go', 'lost start asked for a day'),
  },

  // ----- starts and questions -----
  {
    name: 'modern-start-on-kept-connection',
    rule: 'a start over MCP 2026-07-28 has a connection of its own',
    file: 'lib/remote/mcp/dialect-2026-07-28.ts',
    edits: [{ find: '{ freshConnection: true }', replace: '{}' }],
    caughtBy: rules('fresh-connections', 'fresh connection: each start over MCP 2026-07-28'),
  },
  {
    name: 'legacy-start-on-kept-connection',
    rule: '... over MCP 2025-11-25',
    file: 'lib/remote/mcp/dialect-2025-11-25.ts',
    edits: [{ find: '...options, freshConnection: true', replace: '...options' }],
    caughtBy: rules('fresh-connections', 'fresh connection: each start over MCP 2025-11-25'),
  },
  {
    name: 'a2a-start-on-kept-connection',
    rule: '... and over A2A',
    file: 'lib/remote/a2a/client.ts',
    edits: [{ find: '{ freshConnection: true }', replace: '{}' }],
    caughtBy: rules('fresh-connections', 'fresh connection: each start over A2A'),
  },
  {
    name: 'rounds-count-as-failures',
    rule: 'rounds of questions are no failed attempts',
    file: 'lib/operations/start-remote-task.ts',
    edits: [{ find: 'startRetryDelayMs(attempt - wait.rounds,', replace: 'startRetryDelayMs(attempt,' }],
    caughtBy: rules('asking-again', 'rounds are no failed attempts'),
  },

  // ----- reads -----
  {
    name: 'poll-recorded-without-claim',
    rule: 'what a read taught is recorded within its claim',
    file: runStore,
    edits: [{ find: 'conditions: [notSettled, dueStill(poll.claimedDueAtMs)]', replace: 'conditions: [notSettled]' }],
    caughtBy: rules('polling', 'what a read taught is recorded within its claim'),
  },
  {
    name: 'questions-recorded-without-claim',
    rule: 'questions are recorded within the claim of the read',
    file: runStore,
    edits: [{ find: 'conditions: [notSettled, dueStill(asked.claimedDueAtMs)]', replace: 'conditions: [notSettled]' }],
    caughtBy: rules('polling', 'questions are recorded within the claim'),
  },
  {
    name: 'hop-of-any-claim',
    rule: 'a hop belongs to its claim',
    file: pollTask,
    edits: [{ find: 'return message.hop.claimedDueAtMs === dueAtMs;', replace: 'return true;' }],
    caughtBy: rules('polling', 'hop of another claim'),
  },
  {
    name: 'hops-without-end',
    rule: 'a claim has at most ten hops',
    file: pollTask,
    edits: [{ find: '&& hop <= pollHopsMax', replace: '' }],
    caughtBy: rules('polling', 'hops of one claim'),
  },
  {
    name: 'sweep-reads-one-page',
    rule: 'the sweep reads further pages',
    file: 'lib/operations/fan-out-due.ts',
    edits: [{ find: 'while (cursor !== undefined)', replace: 'while (false)' }],
    caughtBy: rules('sweeping', 'sweep reads further pages'),
  },

  // ----- reads: what they write and send -----
  {
    name: 'overtaken-read-sends',
    rule: 'a read that was overtaken arranges none',
    file: pollTask,
    edits: [
      {
        find: `...(sightings === undefined ? {} : { sightings }), }); if (recorded)`,
        replace: `...(sightings === undefined ? {} : { sightings }) }); if (recorded || true)`,
      },
    ],
    caughtBy: rules('polling', 'what a read taught is recorded within its claim'),
  },
  {
    name: 'overtaken-change-sends',
    rule: '... also one that learned something',
    file: pollTask,
    edits: [
      {
        find: `...(newTtlMs === undefined ? {} : { ttlMs: newTtlMs }), }); if (recorded)`,
        replace: `...(newTtlMs === undefined ? {} : { ttlMs: newTtlMs }) }); if (recorded || true)`,
      },
    ],
    caughtBy: rules('polling', 'what a read taught is recorded within its claim'),
  },
  {
    name: 'overtaken-questions-wake',
    rule: '... and one that saw questions wakes nobody',
    file: pollTask,
    edits: [
      {
        find: 'if (await deps.store.recordQuestions(runId, waitId, asked)) {',
        replace: 'await deps.store.recordQuestions(runId, waitId, asked); {',
      },
    ],
    caughtBy: rules('polling', 'questions are recorded within the claim'),
  },
  {
    name: 'questions-wake-for-ever',
    rule: 'questions that a turn has seen wake nobody',
    file: pollTask,
    edits: [{ find: '(token.questions?.taken ?? 0)', replace: '-1' }],
    caughtBy: rules('polling', 'questions are taken in once'),
  },
  {
    name: 'no-read-after-questions',
    rule: 'a read that shows questions arranges the next one',
    file: pollTask,
    edits: [
      {
        find: `await wakeRunFor(deps, runId, { waitId });
               await pollAt(deps, { kind: 'poll', runId, waitId, server, dueAtMs: nextAtMs }, nextAtMs);`,
        replace: 'await wakeRunFor(deps, runId, { waitId });',
      },
    ],
    caughtBy: rules('polling', 'questions are taken in once'),
  },
  {
    name: 'questions-of-any-call',
    rule: 'questions of a call that answers none are not recorded',
    file: pollTask,
    edits: [{ find: 'token.answersQuestions === true &&', replace: '' }],
    caughtBy: rules('polling', 'questions of a call that answers none'),
  },
  {
    name: 'hint-written-again',
    rule: 'a hint that is known is not written again',
    file: pollTask,
    edits: [{ find: 'hintMs !== (token.pollHintMs ?? 0)', replace: 'hintMs !== 0' }],
    caughtBy: rules('polling', 'one write: a read that goes as before'),
  },
  {
    name: 'ttl-written-again',
    rule: 'a time to live that is known is not written again',
    file: pollTask,
    edits: [{ find: '(token.ttlMs ?? token.handle.ttlMs ?? forEverMs)', replace: '(token.handle.ttlMs ?? forEverMs)' }],
    caughtBy: rules('polling', 'one write: a read that goes as before'),
  },
  {
    name: 'ttl-for-ever-written',
    rule: 'a server that never named a time to live and names none changes nothing',
    file: pollTask,
    edits: [
      { find: '(token.ttlMs ?? token.handle.ttlMs ?? forEverMs)', replace: '(token.ttlMs ?? token.handle.ttlMs)' },
    ],
    caughtBy: rules('polling', 'one write: a server that promises as little'),
  },
  {
    name: 'hop-claims',
    rule: 'a hop writes nothing',
    file: pollTask,
    edits: [
      {
        find: 'message.hop === undefined ? await claim(deps, token, dueAtMs) : message.hop.claimedDueAtMs',
        replace: 'await claim(deps, token, dueAtMs)',
      },
    ],
    caughtBy: rules('polling', 'hop within its claim'),
  },
  {
    name: 'hop-to-the-end',
    rule: 'a hop ends before its claim does',
    file: pollTask,
    edits: [{ find: 'nextAtMs + hintMs < claimedDueAtMs', replace: 'nextAtMs + hintMs <= claimedDueAtMs' }],
    caughtBy: rules('polling', 'hop to the end of its claim'),
  },
  {
    name: 'settled-wait-read',
    rule: 'a wait that is settled is not read',
    file: pollTask,
    edits: [
      {
        find: `if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });
               return 'stale';`,
        replace: 'if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });',
      },
    ],
    caughtBy: rules('polling', 'poll of a settled wait'),
  },
  {
    name: 'consumed-settlement-wakes',
    rule: 'a settlement that was taken in wakes nobody',
    file: pollTask,
    edits: [{ find: 'if (token.dueAtMs !== undefined) await wakeRunFor(', replace: 'await wakeRunFor(' }],
    caughtBy: rules('polling', 'poll of a settled wait'),
  },
  {
    name: 'other-waits-read',
    rule: 'a wait without a remote task has nothing to read',
    file: pollTask,
    edits: [{ find: '!isStarted(token) ||', replace: '' }],
    caughtBy: rules('polling', 'poll of what is no remote task'),
  },
  {
    name: 'lost-claim-wakes',
    rule: 'a claim that another worker has wakes nobody',
    file: pollTask,
    edits: [{ find: 'if (result.token?.settlement !== undefined) await', replace: 'await' }],
    caughtBy: rules('polling', 'claim that another worker was faster with'),
  },
  {
    name: 'held-hop-put-off',
    rule: 'a hop whose server is left alone puts nothing off',
    file: pollTask,
    edits: [{ find: `if (message.hop !== undefined) return 'held';`, replace: '' }],
    caughtBy: rules('polling', 'server that is left alone: a hop'),
  },
  {
    name: 'held-beyond-deadline',
    rule: 'a read is put off to the deadline at most',
    file: pollTask,
    edits: [{ find: 'Math.min(untilMs, deadlineAtMs)', replace: 'untilMs' }],
    caughtBy: rules('polling', 'server that is left alone: the read'),
  },
  {
    name: 'overtaken-held-sends',
    rule: '... by who has the claim',
    file: pollTask,
    edits: [{ find: 'if (claimed) await pollAt(', replace: 'await pollAt(' }],
    caughtBy: rules('polling', 'server that is left alone: a hop'),
  },
  {
    name: 'unreadable-wait-thrown',
    rule: 'a wait that this deployment cannot read is passed over',
    file: pollTask,
    edits: [{ find: 'if (!isUnreadable(error)) throw error;', replace: 'throw error;' }],
    caughtBy: rules('polling', 'wait that cannot be read'),
  },
  {
    name: 'failing-store-passed-over',
    rule: '... and a store that fails is not',
    file: pollTask,
    edits: [{ find: 'if (!isUnreadable(error)) throw error;', replace: '' }],
    caughtBy: rules('polling', 'wait that cannot be read'),
  },
];
