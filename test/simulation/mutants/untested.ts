import { rules, testsIn, type Mutant, storePart } from './mutant.js';

const park = 'lib/operations/turn/park.ts';
const releaseMarkers = 'lib/operations/turn/release-markers.ts';
const findLostStart = 'lib/operations/remote-task/find-lost-start.ts';
const workerWait = 'lib/decide/worker-wait.ts';
const callServer = 'lib/operations/remote-task/call-server.ts';
const pollReply = 'lib/operations/remote-task/poll-reply.ts';
const polls = 'lib/decide/poll.ts';
const skipUnreadable = 'lib/operations/skip-unreadable.ts';
const lostStart = 'lib/decide/lost-start.ts';
const begin = 'lib/operations/turn/begin.ts';
const rest = 'lib/operations/turn/rest.ts';
const pass = 'lib/operations/turn/pass.ts';
const beginStep = 'lib/operations/turn/begin-step.ts';
const effects = 'lib/operations/turn/effects.ts';
const pollTask = 'lib/operations/remote-task/poll-task.ts';
const stopRemote = 'lib/operations/remote-task/stop-remote.ts';
const requestLongStep = 'lib/operations/steps/request-long-step.ts';
const heartbeatToken = 'lib/operations/requests/heartbeat-token.ts';
const recordHandle = 'lib/operations/remote-task/record-handle.ts';
const runLongStep = 'lib/operations/steps/run-long-step.ts';
const endRun = 'lib/operations/turn/end-run.ts';
const fanOutDue = 'lib/operations/sweep/fan-out-due.ts';
const answerRemote = 'lib/operations/remote-task/answer-remote.ts';
const questionsFile = 'lib/decide/questions.ts';
const sighting = 'lib/decide/bad-read.ts';

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
    file: 'lib/operations/settle-in-time.ts',
    edits: [{ find: `const guard = { kind: 'deadlineIs', deadlineAtMs } as const;`, replace: 'const guard = {};' }],
    caughtBy: rules('deadlines', 'timeout only at the deadline that was read'),
  },
  {
    name: 'turn-times-out-regardless',
    rule: '... and so does a turn',
    file: begin,
    edits: [{ find: `const options = { kind: 'deadlineIs', deadlineAtMs } as const;`, replace: 'const options = {};' }],
    caughtBy: rules('deadlines', 'timeout only at the deadline that was read'),
  },
  {
    name: 'deadline-not-a-condition',
    rule: '... by a condition of the settlement',
    file: storePart('tokens'),
    edits: [{ find: '[deadlineIs(guard.deadlineAtMs)]', replace: '[]' }],
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
    file: rest,
    edits: [{ find: 'if (!isSet) await wakeRun(deps, runId); }', replace: '}' }],
    caughtBy: rules('blocked-owners', 'wake after a refused marker: an owner that finds'),
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
    file: runLongStep,
    edits: [{ find: `failed(error), { kind: 'dueIs', dueAtMs: token.dueAtMs }`, replace: 'failed(error), {}' }],
    caughtBy: rules('long-step-requests', 'interrupted long step'),
  },
  {
    name: 'due-not-a-condition',
    rule: '... by a condition of the settlement',
    file: storePart('tokens'),
    edits: [{ find: '[dueStill(guard.dueAtMs)]', replace: '[]' }],
    caughtBy: rules('long-step-requests', 'interrupted long step'),
  },

  // ----- work that is no longer waited for -----
  {
    name: 'abandoned-child-stopped',
    rule: 'a child that is to be abandoned begins though its parent is gone',
    file: pass,
    edits: [{ find: `wait.child.parentClose === 'abandon' ||`, replace: '' }],
    caughtBy: rules('letting-go', 'child and its parent’s end: one that is to be abandoned'),
  },
  {
    name: 'lost-start-asked-once',
    rule: 'a start of unknown fate is asked for again when its wait was closed',
    file: stopRemote,
    edits: [
      {
        find: `if (found === 'unknown') return givesUp ? {} : 'later';`,
        replace: `if (found === 'unknown') return {};`,
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
        find: `if (found === 'unknown') return givesUp ? {} : 'later';`,
        replace: `if (found === 'unknown') return 'later';`,
      },
    ],
    caughtBy: rules('letting-go', 'lost start asked for a day'),
  },

  // ----- starts and questions -----
  {
    name: 'modern-start-on-kept-connection',
    rule: 'a start over MCP 2026-07-28 has a connection of its own',
    file: 'lib/remote/mcp/dialect-2026-07-28.ts',
    edits: [{ find: '...options, freshConnection: true', replace: '...options' }],
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
    file: 'lib/remote/a2a/a2a-transport.ts',
    edits: [{ find: '{ freshConnection: true, patient: ', replace: '{ patient: ' }],
    caughtBy: rules('fresh-connections', 'fresh connection: each start over A2A'),
  },
  {
    name: 'rounds-count-as-failures',
    rule: 'rounds of questions are no failed attempts',
    file: callServer,
    edits: [{ find: 'startRetryDelayMs(number - wait.rounds,', replace: 'startRetryDelayMs(number,' }],
    caughtBy: rules('asking-again', 'rounds are no failed attempts'),
  },

  // ----- reads -----
  {
    name: 'poll-recorded-without-claim',
    rule: 'what a read taught is recorded within its claim',
    file: storePart('polls'),
    edits: [{ find: 'conditions: [notSettled, dueStill(claimedDueAtMs)]', replace: 'conditions: [notSettled]' }],
    caughtBy: rules('polling', 'what a read taught is recorded within its claim'),
  },
  {
    name: 'questions-recorded-without-claim',
    rule: 'questions are recorded within the claim of the read',
    file: storePart('questions'),
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
    file: pollReply,
    edits: [{ find: ' && hops < pollHopsMax', replace: '' }],
    caughtBy: rules('polling', 'hops of one claim'),
  },
  {
    name: 'sweep-reads-one-page',
    rule: 'the sweep reads further pages',
    file: fanOutDue,
    edits: [{ find: 'while (cursor !== undefined)', replace: 'while (false)' }],
    caughtBy: rules('sweeping', 'sweep reads further pages'),
  },

  // ----- reads: what they write and send -----
  {
    name: 'overtaken-read-sends',
    rule: 'a read that was overtaken arranges none',
    file: pollReply,
    edits: [
      {
        find: 'if (recorded) await pollAt(deps, next, nextAtMs);',
        replace: 'await pollAt(deps, next, nextAtMs);',
      },
    ],
    caughtBy: rules('polling', 'what a read taught is recorded within its claim'),
  },
  {
    name: 'overtaken-change-sends',
    rule: '... also one that learned something',
    file: pollReply,
    edits: [
      {
        find: `...defined({ ttlMs: newTtlMs, trail: reply.trail }), }); if (!recorded) return;`,
        replace: `...defined({ ttlMs: newTtlMs, trail: reply.trail }) });`,
      },
    ],
    caughtBy: rules('polling', 'what a read taught is recorded within its claim'),
  },
  {
    name: 'overtaken-questions-wake',
    rule: '... and a read that saw questions wakes no run',
    file: pollReply,
    edits: [
      {
        find: 'if (await deps.store.questions.record(runId, waitId, asked)) {',
        replace: 'await deps.store.questions.record(runId, waitId, asked); {',
      },
    ],
    caughtBy: rules('polling', 'questions are recorded within the claim'),
  },
  {
    name: 'questions-wake-for-ever',
    rule: 'questions that a turn has seen wake no run',
    file: pollReply,
    edits: [{ find: '(token.questions?.taken ?? 0)', replace: '-1' }],
    caughtBy: rules('polling', 'questions are taken in once'),
  },
  {
    name: 'no-read-after-questions',
    rule: 'a read that shows questions arranges the next one',
    file: pollReply,
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
    file: pollReply,
    edits: [{ find: 'token.answersQuestions !== true || ', replace: '' }],
    caughtBy: rules('polling', 'questions of a call that answers none'),
  },
  {
    name: 'hint-written-again',
    rule: 'a hint that is known is not written again',
    file: pollReply,
    edits: [{ find: 'hintMs !== (token.pollHintMs ?? 0)', replace: 'hintMs !== 0' }],
    caughtBy: rules('polling', 'one write: a read that goes as before'),
  },
  {
    name: 'ttl-written-again',
    rule: 'a time to live that is known is not written again',
    file: polls,
    edits: [{ find: 'token.ttlMs ?? token.handle.ttlMs ?? forEverMs', replace: 'token.handle.ttlMs ?? forEverMs' }],
    caughtBy: rules('polling', 'one write: a read that goes as before'),
  },
  {
    name: 'ttl-for-ever-written',
    rule: 'a server that never named a time to live and names none changes nothing',
    file: polls,
    edits: [
      { find: 'token.ttlMs ?? token.handle.ttlMs ?? forEverMs', replace: 'token.ttlMs ?? token.handle.ttlMs ?? 1e9' },
    ],
    caughtBy: rules('polling', 'one write: a server that promises as little'),
  },
  {
    name: 'hop-claims',
    rule: 'a hop writes nothing',
    file: pollTask,
    edits: [
      {
        find: 'hop ?? (await claim(deps, polled, dueAtMs))',
        replace: 'await claim(deps, polled, dueAtMs)',
      },
    ],
    caughtBy: rules('polling', 'hop within its claim'),
  },
  {
    name: 'hop-to-the-end',
    rule: 'a hop ends before its claim does',
    file: pollReply,
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
    rule: 'a settlement that was taken in wakes no run',
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
    rule: 'a claim that another worker has wakes no run',
    file: pollTask,
    edits: [{ find: "if (result.token?.settlement === undefined) return 'moved';", replace: '' }],
    caughtBy: rules('polling', 'claim that another worker was faster with'),
  },
  {
    name: 'held-hop-put-off',
    rule: 'a hop whose server is left alone puts nothing off',
    file: pollTask,
    edits: [{ find: 'if (!isExtra && !(await putOff(', replace: 'if (!(await putOff(' }],
    caughtBy: rules('polling', 'server that is left alone: a hop'),
  },
  {
    name: 'held-beyond-deadline',
    rule: 'a read is put off to the deadline at most',
    file: pollTask,
    edits: [{ find: 'Math.min(freeAtMs, deadlineAtMs)', replace: 'freeAtMs' }],
    caughtBy: rules('polling', 'server that is left alone: the read'),
  },
  {
    name: 'resting-poke-by-interval',
    rule: 'a poke is put off until its server may be called, no longer',
    file: pollTask,
    edits: [{ find: 'isResting === true && !isPoke ?', replace: 'isResting === true ?' }],
    caughtBy: rules('polling', 'server that fails or asks for a pause'),
  },
  {
    name: 'full-by-interval',
    rule: 'a read of a server with as many requests as it may have is put off until its turn',
    file: pollTask,
    edits: [{ find: 'isResting === true && !isPoke ?', replace: '!isPoke ?' }],
    caughtBy: rules('polling', 'server that fails or asks for a pause'),
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
    file: skipUnreadable,
    edits: [{ find: 'if (!isUnreadable(error)) throw error;', replace: 'throw error;' }],
    caughtBy: rules('polling', 'wait that cannot be read'),
  },
  {
    name: 'failing-store-passed-over',
    rule: '... and a store that fails is not',
    file: skipUnreadable,
    edits: [{ find: 'if (!isUnreadable(error)) throw error;', replace: 'if (!isUnreadable(error)) return undefined;' }],
    caughtBy: rules('polling', 'wait that cannot be read'),
  },

  // ----- the conditions of the store -----
  {
    name: 'run-put-over-run',
    rule: 'a head is put if absent',
    file: storePart('heads'),
    edits: [
      {
        find: `this.#table.write({ kind: 'put', item: headItem(head, writerId), conditions: [itemAbsent] })`,
        replace: `this.#table.write({ kind: 'put', item: headItem(head, writerId), conditions: [] })`,
      },
    ],
    caughtBy: rules('conditions', 'heads.create only if'),
  },
  {
    name: 'own-run-not-recognised',
    rule: 'the own writer id on the head means a lost acknowledgement',
    file: storePart('heads'),
    edits: [{ find: `created: result.old['writerId'] === writerId`, replace: 'created: false' }],
    caughtBy: rules('conditions', 'heads.create only if'),
  },
  {
    name: 'signalled-run-over-run',
    rule: 'a head with its first signal is put if absent',
    file: storePart('heads'),
    edits: [
      {
        find: 'item: headItem({ ...head, inboxCount }, writerId), conditions: [itemAbsent]',
        replace: 'item: headItem({ ...head, inboxCount }, writerId), conditions: []',
      },
    ],
    caughtBy: rules('conditions', 'heads.createWith only if'),
  },
  {
    name: 'first-signal-over-signal',
    rule: '... and so is the signal',
    file: storePart('heads'),
    edits: [
      {
        find: 'item: inboxItem({ ...signal, position: 0 }), conditions: [itemAbsent]',
        replace: 'item: inboxItem({ ...signal, position: 0 }), conditions: []',
      },
    ],
    caughtBy: rules('conditions', 'heads.createWith only if'),
  },
  {
    name: 'own-signalled-run-not-recognised',
    rule: '... by the process that made it, as its own',
    file: storePart('heads'),
    edits: [{ find: `created: old['writerId'] === writerId`, replace: 'created: false' }],
    caughtBy: rules('conditions', 'heads.createWith only if'),
  },
  {
    name: 'named-run-over-run',
    rule: 'the head of a named run is put if absent',
    file: storePart('names'),
    edits: [
      {
        find: `[ { kind: 'put', item: headItem(head, writerId), conditions: [itemAbsent] }`,
        replace: `[{ kind: 'put', item: headItem(head, writerId), conditions: [] }`,
      },
    ],
    caughtBy: rules('conditions', 'names.createRun only if'),
  },
  {
    name: 'name-pointed-regardless',
    rule: 'an id is pointed anew only from where it was seen to point',
    file: storePart('names'),
    edits: [{ find: '[name.generation === 0 ? itemAbsent : generationIs(name.generation)]', replace: '[]' }],
    caughtBy: rules('conditions', 'names.createRun only if'),
  },
  {
    name: 'name-not-counted',
    rule: '... and each time has a number of its own',
    file: storePart('names'),
    edits: [{ find: 'generation: name.generation + 1', replace: 'generation: name.generation' }],
    caughtBy: rules('conditions', 'names.createRun only if'),
  },
  {
    name: 'own-named-run-not-recognised',
    rule: '... by the process that made it, as its own',
    file: storePart('names'),
    edits: [
      {
        find: `if (result.ok || result.refused[0]?.old?.['writerId'] === writerId) return 'created';`,
        replace: `if (result.ok) return 'created';`,
      },
    ],
    caughtBy: rules('conditions', 'names.createRun only if'),
  },
  {
    name: 'seeded-over-seeded',
    rule: 'a signal that is handed on is put if absent',
    file: storePart('inbox'),
    edits: [
      {
        find: 'item: inboxItem(withoutMarker(record)), conditions: [itemAbsent]',
        replace: 'item: inboxItem(withoutMarker(record)), conditions: []',
      },
    ],
    caughtBy: rules('conditions', 'inbox.seed only if'),
  },
  {
    name: 'seeded-with-marker',
    rule: '... without a marker of its own',
    file: storePart('inbox'),
    edits: [{ find: 'inboxItem(withoutMarker(record))', replace: 'inboxItem(record)' }],
    caughtBy: rules('conditions', 'inbox.seed only if'),
  },
  {
    name: 'own-commit-not-recognised',
    rule: 'the own writer id on the commit means a lost acknowledgement',
    file: storePart('log'),
    edits: [{ find: 'return result.ok || wroteIt(result.old, commit);', replace: 'return result.ok;' }],
    caughtBy: rules('conditions', 'log.commit only if'),
  },
  {
    name: 'own-end-not-recognised',
    rule: '... also with the head',
    file: storePart('log'),
    edits: [{ find: 'return result.ok || wroteIt(result.refused[0]?.old, commit);', replace: 'return result.ok;' }],
    caughtBy: rules('conditions', 'log.commitEnding only'),
  },
  {
    name: 'ending-over-commit',
    rule: 'an ending is put if its number is free',
    file: storePart('log'),
    edits: [
      {
        find: `conditions: [itemAbsent] }, { kind: 'update', key: headKey(runId), ...head }`,
        replace: `conditions: [] }, { kind: 'update', key: headKey(runId), ...head }`,
      },
    ],
    caughtBy: rules('conditions', 'log.commitEnding only'),
  },
  {
    name: 'ending-of-any-run',
    rule: 'only a running run comes to its end',
    file: storePart('log'),
    edits: [
      {
        find: `conditions: [itemExists, statusIs('running'), inboxCountIs(inboxCount)]`,
        replace: 'conditions: [itemExists, inboxCountIs(inboxCount)]',
      },
    ],
    caughtBy: rules('conditions', 'log.commitEnding only'),
  },
  {
    name: 'ending-with-older-marker',
    rule: 'an ending says from which commit the marker is',
    file: storePart('log'),
    edits: [{ find: `status: 'ending', dueSeq: commit.seq,`, replace: `status: 'ending',` }],
    caughtBy: rules('conditions', 'log.commitEnding only'),
  },
  {
    name: 'end-of-any-status',
    rule: 'the terminal commit is for a run that is as it was seen',
    file: storePart('log'),
    edits: [{ find: 'statusIs(seen.status),', replace: '' }],
    caughtBy: rules('conditions', 'log.commitEnd only'),
  },
  {
    name: 'end-with-older-marker',
    rule: '... it says from which commit the marker is',
    file: storePart('log'),
    edits: [{ find: 'endedAtMs, dueSeq: commit.seq,', replace: 'endedAtMs,' }],
    caughtBy: rules('conditions', 'log.commitEnd only'),
  },
  {
    name: 'end-not-listed',
    rule: '... moves the run in the lists',
    file: storePart('log'),
    edits: [{ find: '...runListing(run, outcome.status),', replace: '' }],
    caughtBy: rules('conditions', 'log.commitEnd only'),
  },
  {
    name: 'end-not-marked',
    rule: '... sets a marker where none stands',
    file: storePart('log'),
    edits: [{ find: '...marker(run.runId, end.markAtMs),', replace: '' }],
    caughtBy: rules('conditions', 'log.commitEnd only'),
  },
  {
    name: 'end-still-blocked',
    rule: '... and takes the block away',
    file: storePart('log'),
    edits: [
      {
        find: 'remove: failureAttributes, conditions: [ itemExists, statusIs(seen.status)',
        replace: 'conditions: [itemExists, statusIs(seen.status)',
      },
    ],
    caughtBy: rules('conditions', 'log.commitEnd only'),
  },
  {
    name: 'token-over-token',
    rule: 'a token item is put if absent',
    file: storePart('tokens'),
    edits: [
      {
        find: 'item: tokenItem(token), conditions: [itemAbsent]',
        replace: 'item: tokenItem(token), conditions: []',
      },
    ],
    caughtBy: rules('conditions', 'tokens.put only if'),
  },
  {
    name: 'attempt-of-settled',
    rule: 'a settled wait has no further attempt',
    file: storePart('starts'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(attempt - 1)]',
        replace: '[itemExists, noHandle, attemptIs(attempt - 1)]',
      },
    ],
    caughtBy: rules('conditions', 'starts.claim only'),
  },
  {
    name: 'attempt-of-started',
    rule: '... nor has one with a handle',
    file: storePart('starts'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(attempt - 1)]',
        replace: '[itemExists, notSettled, attemptIs(attempt - 1)]',
      },
    ],
    caughtBy: rules('conditions', 'starts.claim only'),
  },
  {
    name: 'attempt-of-any-number',
    rule: '... and the next one is claimed after the one before',
    file: storePart('starts'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(attempt - 1)]',
        replace: '[itemExists, notSettled, noHandle]',
      },
    ],
    caughtBy: rules('conditions', 'starts.claim only'),
  },
  {
    name: 'handle-without-item',
    rule: 'a handle is stored on an item that is there',
    file: storePart('starts'),
    edits: [
      {
        find: 'conditions: [itemExists, notSettled, ...(started.onlyWithoutHandle',
        replace: 'conditions: [notSettled, ...(started.onlyWithoutHandle',
      },
    ],
    caughtBy: rules('conditions', 'starts.storeHandle only'),
  },
  {
    name: 'handle-over-handle',
    rule: '... one that was found, where there is none',
    file: storePart('starts'),
    edits: [{ find: 'started.onlyWithoutHandle === true ? [noHandle] : []', replace: '[]' }],
    caughtBy: rules('conditions', 'starts.storeHandle only'),
  },
  {
    name: 'left-handle-of-open',
    rule: 'a handle is left on a settled item',
    file: storePart('unwanted-tasks'),
    edits: [
      {
        find: 'orphanListing(runId, waitId, atMs)), }, conditions: [itemExists, isSettled]',
        replace: 'orphanListing(runId, waitId, atMs)) }, conditions: [itemExists]',
      },
    ],
    caughtBy: rules('conditions', 'unwantedTasks.leaveHandle only'),
  },
  {
    name: 'left-handle-always-orphan',
    rule: '... with a marker if it is to be cancelled',
    file: storePart('unwanted-tasks'),
    edits: [
      { find: 'const { atMs, forCancel } = left;', replace: 'const { atMs } = left; const forCancel = atMs < 0;' },
    ],
    caughtBy: rules('conditions', 'unwantedTasks.leaveHandle only'),
  },
  {
    name: 'cancel-of-open',
    rule: 'a cancel is noted on a settled item',
    file: storePart('unwanted-tasks'),
    edits: [
      {
        find: 'listAttributes : undefined }), conditions: [itemExists, isSettled]',
        replace: 'listAttributes : undefined }), conditions: [itemExists]',
      },
    ],
    caughtBy: rules('conditions', 'unwantedTasks.recordCancel only'),
  },
  {
    name: 'cancelled-still-orphan',
    rule: 'a cancelled task is not an orphan',
    file: storePart('unwanted-tasks'),
    edits: [{ find: `cancel.kind === 'sent' ? listAttributes : undefined`, replace: 'undefined' }],
    caughtBy: rules('conditions', 'unwantedTasks.recordCancel only'),
  },
  {
    name: 'settled-despite-handle',
    rule: 'a settlement may be for an item without a handle',
    file: storePart('tokens'),
    edits: [{ find: 'handle: [noHandle]', replace: 'handle: []' }],
    caughtBy: rules('conditions', 'tokens.settle under a further condition'),
  },
  {
    name: 'settled-despite-form',
    rule: '... without a form',
    file: storePart('tokens'),
    edits: [{ find: 'form: [noQuestion]', replace: 'form: []' }],
    caughtBy: rules('conditions', 'tokens.settle under a further condition'),
  },
  {
    name: 'settled-by-any-writer',
    rule: '... of one writer',
    file: storePart('tokens'),
    edits: [{ find: '[writerIs(guard.writerId)]', replace: '[]' }],
    caughtBy: rules('conditions', 'tokens.settle under a further condition'),
  },
  {
    name: 'settled-still-listed',
    rule: 'a question that is settled is listed no more',
    file: storePart('tokens'),
    edits: [
      {
        find: '...marker(runId, settlement.atMs) }, remove: listAttributes,',
        replace: '...marker(runId, settlement.atMs) },',
      },
    ],
    caughtBy: rules('conditions', 'tokens.settle under a further condition'),
  },
  {
    name: 'closed-still-listed',
    rule: '... nor is one that is closed',
    file: storePart('tokens'),
    edits: [{ find: '...marker(runId, atMs) }, remove: listAttributes,', replace: '...marker(runId, atMs) },' }],
    caughtBy: rules('conditions', 'tokens.close only'),
  },
  {
    name: 'deadline-of-settled',
    rule: 'the deadline of a settled wait stays',
    file: storePart('tokens'),
    edits: [
      {
        find: '[itemExists, notSettled, hasDeadline, notOverdue(nowMs)]',
        replace: '[itemExists, hasDeadline, notOverdue(nowMs)]',
      },
    ],
    caughtBy: rules('conditions', 'tokens.moveDeadline only'),
  },
  {
    name: 'deadline-where-none-was',
    rule: '... and a wait without one gets none',
    file: storePart('tokens'),
    edits: [
      {
        find: '[itemExists, notSettled, hasDeadline, notOverdue(nowMs)]',
        replace: '[itemExists, notSettled, notOverdue(nowMs)]',
      },
    ],
    caughtBy: rules('conditions', 'tokens.moveDeadline only'),
  },
  {
    name: 'deadline-without-marker',
    rule: 'a deadline that is moved has a marker',
    file: storePart('tokens'),
    edits: [
      {
        find: '...tokenFields.write({ deadlineAtMs }), ...marker(runId, deadlineAtMs)',
        replace: '...tokenFields.write({ deadlineAtMs })',
      },
    ],
    caughtBy: rules('conditions', 'tokens.moveDeadline only'),
  },
  {
    name: 'poll-claims-settled',
    rule: 'a settled wait is not claimed for a read',
    file: storePart('polls'),
    edits: [{ find: '[notSettled, dueStill(claim.seenDueAtMs)]', replace: '[dueStill(claim.seenDueAtMs)]' }],
    caughtBy: rules('conditions', 'polls.claim only'),
  },
  {
    name: 'poll-recorded-when-settled',
    rule: 'nothing is recorded of a settled wait',
    file: storePart('polls'),
    edits: [{ find: '[notSettled, dueStill(claimedDueAtMs)]', replace: '[dueStill(claimedDueAtMs)]' }],
    caughtBy: rules('conditions', 'polls.record only'),
  },
  {
    name: 'questions-recorded-when-settled',
    rule: '... and no questions',
    file: storePart('questions'),
    edits: [{ find: '[notSettled, dueStill(asked.claimedDueAtMs)]', replace: '[dueStill(asked.claimedDueAtMs)]' }],
    caughtBy: rules('conditions', 'questions.record only'),
  },
  {
    name: 'sightings-outlive-questions',
    rule: 'a read that shows questions ends a row of sightings',
    file: storePart('questions'),
    edits: [{ find: 'trail: asked.trail }), }, remove: noBadReads,', replace: 'trail: asked.trail }) },' }],
    caughtBy: rules('conditions', 'questions.record only'),
  },
  {
    name: 'start-questions-of-settled',
    rule: 'a settled wait is asked nothing before its start',
    file: storePart('questions'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(asked.attempt), onlyAskedBefore(round)]',
        replace: '[itemExists, noHandle, attemptIs(asked.attempt), onlyAskedBefore(round)]',
      },
    ],
    caughtBy: rules('conditions', 'questions.recordOfStart only'),
  },
  {
    name: 'start-questions-of-started',
    rule: '... nor is one with a handle',
    file: storePart('questions'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(asked.attempt), onlyAskedBefore(round)]',
        replace: '[itemExists, notSettled, attemptIs(asked.attempt), onlyAskedBefore(round)]',
      },
    ],
    caughtBy: rules('conditions', 'questions.recordOfStart only'),
  },
  {
    name: 'start-questions-of-any-attempt',
    rule: '... only by the attempt that asked',
    file: storePart('questions'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(asked.attempt), onlyAskedBefore(round)]',
        replace: '[itemExists, notSettled, noHandle, onlyAskedBefore(round)]',
      },
    ],
    caughtBy: rules('conditions', 'questions.recordOfStart only'),
  },
  {
    name: 'start-questions-of-any-round',
    rule: '... and each round once',
    file: storePart('questions'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(asked.attempt), onlyAskedBefore(round)]',
        replace: '[itemExists, notSettled, noHandle, attemptIs(asked.attempt)]',
      },
    ],
    caughtBy: rules('conditions', 'questions.recordOfStart only'),
  },
  {
    name: 'questions-taken-of-nothing',
    rule: 'taking in questions makes no item',
    file: storePart('questions'),
    edits: [
      { find: 'conditions: [itemExists, notTakenBeyond(recorded)]', replace: 'conditions: [notTakenBeyond(recorded)]' },
    ],
    caughtBy: rules('conditions', 'questions.take makes no item'),
  },
  {
    name: 'step-claimed-when-settled',
    rule: 'a settled step is not claimed',
    file: storePart('long-steps'),
    edits: [{ find: '[notSettled, dueStill(attempt.seenDueAtMs)]', replace: '[dueStill(attempt.seenDueAtMs)]' }],
    caughtBy: rules('conditions', 'longSteps.claim only'),
  },
  {
    name: 'own-step-claim-not-recognised',
    rule: 'the own writer id on the item means a lost acknowledgement',
    file: storePart('long-steps'),
    edits: [{ find: 'return ok || token?.writerId === attempt.writerId;', replace: 'return ok;' }],
    caughtBy: rules('conditions', 'longSteps.claim only'),
  },
  {
    name: 'step-failure-when-settled',
    rule: 'a failure of a settled step is not recorded',
    file: storePart('long-steps'),
    edits: [{ find: '[notSettled, writerIs(claim)]', replace: '[writerIs(claim)]' }],
    caughtBy: rules('conditions', 'longSteps.recordFailure only'),
  },
  {
    name: 'own-step-failure-not-recognised',
    rule: 'the own writer id on the item means a lost acknowledgement',
    file: storePart('long-steps'),
    edits: [{ find: 'return ok || token?.writerId === failure.writerId;', replace: 'return ok;' }],
    caughtBy: rules('conditions', 'longSteps.recordFailure only'),
  },
  {
    name: 'step-moved-when-settled',
    rule: 'a settled step is not moved',
    file: storePart('long-steps'),
    edits: [{ find: '[notSettled, dueStill(move.seenDueAtMs)]', replace: '[dueStill(move.seenDueAtMs)]' }],
    caughtBy: rules('conditions', 'longSteps.move only'),
  },
  {
    name: 'step-moved-regardless',
    rule: '... and one only from the due instant that was read',
    file: storePart('long-steps'),
    edits: [{ find: '[notSettled, dueStill(move.seenDueAtMs)]', replace: '[notSettled]' }],
    caughtBy: rules('conditions', 'longSteps.move only'),
  },
  {
    name: 'published-backwards',
    rule: 'what is said to be published never becomes less',
    file: storePart('head-markers'),
    edits: [{ find: '[itemExists, notPublishedBeyond(publishedSeq)]', replace: '[itemExists]' }],
    caughtBy: rules('conditions', 'headMarkers.setPublished only'),
  },
  {
    name: 'published-without-head',
    rule: '... and makes no head',
    file: storePart('head-markers'),
    edits: [{ find: '[itemExists, notPublishedBeyond(publishedSeq)]', replace: '[notPublishedBeyond(publishedSeq)]' }],
    caughtBy: rules('conditions', 'headMarkers.setPublished only'),
  },
  {
    name: 'schedule-saved-regardless',
    rule: 'a schedule is saved only from the revision that was read',
    file: storePart('schedules'),
    edits: [{ find: '[state.revision === 0 ? neverSaved : revisionIs(state.revision)]', replace: '[]' }],
    caughtBy: rules('conditions', 'schedules.save only'),
  },

  // ----- the sweep -----
  {
    name: 'swept-step-read',
    rule: 'an attempt of a long step goes to its queue',
    file: fanOutDue,
    edits: [{ find: '&& entry.isLongStep', replace: '&& false' }],
    caughtBy: rules('sweeping', 'sweep sends each to its queue'),
  },
  {
    name: 'swept-settlement-read',
    rule: 'the run of a settled wait is woken',
    file: fanOutDue,
    edits: [
      {
        find: `} else if (entry.kind === 'token' && !entry.settled) {`,
        replace: `} else if (entry.kind === 'token') {`,
      },
    ],
    caughtBy: rules('sweeping', 'sweep of settled waits'),
  },
  {
    name: 'swept-settlement-attempted',
    rule: '... also of a long step',
    file: fanOutDue,
    edits: [
      {
        find: `entry.kind === 'token' && !entry.settled && entry.isLongStep`,
        replace: `entry.kind === 'token' && entry.isLongStep`,
      },
    ],
    caughtBy: rules('sweeping', 'sweep of settled waits'),
  },
  {
    name: 'swept-ahead-of-time',
    rule: 'a wake that is for later is sent for then',
    file: fanOutDue,
    edits: [{ find: 'entry.dueAtMs > nowMs)', replace: 'false)' }],
    caughtBy: rules('sweeping', 'sweep sends each to its queue'),
  },
  {
    name: 'swept-twice',
    rule: 'a sweep wakes each run once',
    file: fanOutDue,
    edits: [{ find: '!woken.has(entry.runId)', replace: 'true' }],
    caughtBy: rules('sweeping', 'sweep wakes a run once'),
  },
  {
    name: 'swept-not-ahead',
    rule: 'a sweep looks ahead to the next',
    file: fanOutDue,
    edits: [{ find: 'untilMs, pageSize', replace: 'nowMs, pageSize' }],
    caughtBy: rules('sweeping', 'sweep sends each to its queue'),
  },
  {
    name: 'broken-shard-hidden',
    rule: 'a shard that cannot be read is reported',
    file: fanOutDue,
    edits: [{ find: 'if (failed !== undefined) throw failed.reason;', replace: '' }],
    caughtBy: rules('sweeping', 'sweep that fails for one: a shard'),
  },
  {
    name: 'broken-shard-stops-others',
    rule: '... and stops no other',
    file: fanOutDue,
    edits: [
      {
        find: 'await Promise.allSettled(parts)',
        replace: `(await Promise.all(parts)).map((value) => ({ status: 'fulfilled', value }))`,
      },
    ],
    caughtBy: rules('sweeping', 'sweep that fails for one: a shard'),
  },
  {
    name: 'untaken-poll-stops-others',
    rule: 'a message that no queue takes stops no other',
    file: fanOutDue,
    edits: [{ find: `deps.log.warn('poll not sent', { runId, error });`, replace: 'throw error;' }],
    caughtBy: rules('sweeping', 'sweep that fails for one: a message'),
  },
  {
    name: 'swept-read-at-once',
    rule: 'a read is for its instant',
    file: fanOutDue,
    edits: [{ find: 'Math.max(0, dueAtMs - nowMs)', replace: '0' }],
    caughtBy: rules('sweeping', 'sweep sends each to its queue'),
  },

  // ----- answers to remote tasks -----
  {
    name: 'answer-without-look',
    rule: 'a task that was answered is read soon',
    file: answerRemote,
    edits: [{ find: 'await pollAt(deps, poke, atMs + pollAfterAnswerMs);', replace: '' }],
    caughtBy: rules('answering', 'answer delivered'),
  },
  {
    name: 'start-answer-sent',
    rule: 'what was asked before there was a task goes with the next start',
    file: answerRemote,
    edits: [{ find: 'asked.round !== undefined ||', replace: '' }],
    caughtBy: rules('answering', 'answer with nobody'),
  },
  {
    name: 'answer-after-the-end',
    rule: 'a task that has ended is not answered',
    file: answerRemote,
    edits: [{ find: '|| token?.settlement !== undefined', replace: '' }],
    caughtBy: rules('answering', 'answer with nobody'),
  },
  {
    name: 'answer-attempts-not-counted',
    rule: 'each attempt to answer has its number',
    file: answerRemote,
    edits: [{ find: 'const attempt = wait.failedAttempts + 1;', replace: 'const attempt = wait.failedAttempts;' }],
    caughtBy: rules('answering', 'answer that did not get through'),
  },
  {
    name: 'answer-retry-after-ignored',
    rule: '... and waits as long as the server says',
    file: answerRemote,
    edits: [{ find: 'answerRetryDelayMs(attempt, reply.retryAfterMs)', replace: 'answerRetryDelayMs(attempt)' }],
    caughtBy: rules('answering', 'answer that did not get through'),
  },

  // ----- tasks that are no longer waited for -----
  {
    name: 'policies-mixed',
    rule: 'each end has its own policy',
    file: stopRemote,
    edits: [
      { find: `settlement.outcome.kind === 'timed_out' ? onTimeout : onCancel`, replace: 'onTimeout ?? onCancel' },
    ],
    caughtBy: rules('stopping', 'policy of the call'),
  },
  {
    name: 'gone-server-asked',
    rule: 'a server that is gone is not asked',
    file: stopRemote,
    edits: [{ find: '|| !Object.hasOwn(deps.app.servers, server)', replace: '' }],
    caughtBy: rules('stopping', 'server that is gone'),
  },
  {
    name: 'unknown-task-orphan',
    rule: 'an unknown task is not an orphan',
    file: stopRemote,
    edits: [
      {
        find: 'return token.handle === undefined ? {} : { orphanedAtMs: atMs };',
        replace: 'return { orphanedAtMs: atMs };',
      },
    ],
    caughtBy: rules('stopping', 'nothing to stop'),
  },
  {
    name: 'left-task-no-orphan',
    rule: 'a task that is left is an orphan',
    file: stopRemote,
    edits: [{ find: 'return token.handle === undefined ? {} : { orphanedAtMs: atMs };', replace: 'return {};' }],
    caughtBy: rules('stopping', 'policy of the call'),
  },
  {
    name: 'refused-cancel-repeated',
    rule: 'a cancel that was refused is not repeated',
    file: stopRemote,
    edits: [{ find: `const isOver = reply.kind === 'refused' || givesUp;`, replace: 'const isOver = givesUp;' }],
    caughtBy: rules('stopping', 'cancel that is refused'),
  },
  {
    name: 'cancel-given-up-at-once',
    rule: 'one without an answer is repeated for a day',
    file: stopRemote,
    edits: [{ find: `const isOver = reply.kind === 'refused' || givesUp;`, replace: 'const isOver = true;' }],
    caughtBy: rules('stopping', 'cancel that gets no answer'),
  },
  {
    name: 'cancel-never-given-up',
    rule: '... and no longer',
    file: stopRemote,
    edits: [
      {
        find: `const isOver = reply.kind === 'refused' || givesUp;`,
        replace: `const isOver = reply.kind === 'refused';`,
      },
    ],
    caughtBy: rules('stopping', 'cancel that gets no answer'),
  },

  // ----- decisions -----
  {
    name: 'too-large-question',
    rule: 'a question that is too large is not taken in',
    file: questionsFile,
    edits: [{ find: '<= questionMaxBytes', replace: '<= Infinity' }],
    caughtBy: rules('deciding', 'questions that are taken in'),
  },
  {
    name: 'too-many-questions',
    rule: '... nor are more than 64',
    file: questionsFile,
    edits: [{ find: '.slice(0, questionsMax)', replace: '' }],
    caughtBy: rules('deciding', 'questions that are taken in'),
  },
  {
    name: 'keys-of-start-known',
    rule: 'keys of before the start are others',
    file: questionsFile,
    edits: [{ find: 'last?.round === undefined ? (last?.list ?? []) : []', replace: 'last?.list ?? []' }],
    caughtBy: rules('deciding', 'unseen questions'),
  },
  {
    name: 'sightings-without-gap',
    rule: 'two sightings close together are one',
    file: sighting,
    edits: [{ find: 'nowMs - before.atMs < badReadsGapMs ? before :', replace: '' }],
    caughtBy: rules('deciding', 'missing task: three sightings'),
  },
  {
    name: 'sightings-of-any-kind',
    rule: 'a row is of one kind',
    file: sighting,
    edits: [{ find: 'if (before?.of !== of) return', replace: 'if (before === undefined) return' }],
    caughtBy: rules('deciding', 'missing task: three sightings'),
  },
  {
    name: 'grace-from-creation',
    rule: 'the grace is counted from the reply to the start',
    file: sighting,
    edits: [{ find: '(task.startedAtMs ?? task.createdAtMs)', replace: 'task.createdAtMs' }],
    caughtBy: rules('deciding', 'missing task: nothing within a minute'),
  },
  {
    name: 'older-ttl',
    rule: 'the last word on the time to live counts',
    file: sighting,
    edits: [{ find: 'task.ttlMs ?? task.handle.ttlMs', replace: 'task.handle.ttlMs' }],
    caughtBy: rules('deciding', 'missing task: it has expired'),
  },

  // ----- turns -----
  {
    name: 'start-without-time',
    rule: 'a start needs time for its request',
    file: begin,
    edits: [{ find: 'if (limits.remainingMs() < startReserveMs) return false;', replace: '' }],
    caughtBy: rules('turns', 'too little time for a start'),
  },
  {
    name: 'step-without-time',
    rule: 'a step needs time for itself',
    file: beginStep,
    edits: [{ find: 'if (limits.remainingMs() < longestMs + turnReserveMs) return false;', replace: '' }],
    caughtBy: rules('turns', 'too little time for a step'),
  },
  {
    name: 'cancel-without-time',
    rule: 'a cancel needs time for its request',
    file: releaseMarkers,
    edits: [
      {
        find: 'if (limits.remainingMs() < (isToBeFound ? lostStartReserveMs : cancelReserveMs)) return false;',
        replace: '',
      },
      { find: 'stopRemote(deps, token, limits)', replace: 'stopRemote(deps, token, { remainingMs: () => Infinity })' },
    ],
    caughtBy: rules('turns', 'too little time for a cancel'),
  },

  // ----- turns -----
  {
    name: 'no-wake-for-the-rest',
    rule: 'what there was no time for is for another turn',
    file: rest,
    edits: [{ find: 'await wakeForRest(deps, runId, effects.unharmed());', replace: '' }],
    caughtBy: rules('turns', 'too little time for a step'),
  },
  {
    name: 'careful-in-parallel',
    rule: 'after a lost delivery steps run one at a time',
    file: beginStep,
    edits: [{ find: 'return isCareful(pass) ? 1 : stepsInParallel;', replace: 'return stepsInParallel;' }],
    caughtBy: rules('turns', 'careful after a delivery'),
  },
  {
    name: 'careful-without-record',
    rule: '... and are recorded before',
    file: beginStep,
    edits: [
      {
        find: '!command.policy.atMostOnce && !isCareful(pass) && !isUnharmed',
        replace: '!command.policy.atMostOnce && !isUnharmed',
      },
    ],
    caughtBy: rules('turns', 'careful after a delivery'),
  },
  {
    name: 'starts-without-limit',
    rule: 'sixteen starts at a time',
    file: begin,
    edits: [
      {
        find: 'if (run.isStarted(wait) || run.isLater(wait, nowMs) || isOutsideFull(pass)) return true;',
        replace: 'if (run.isStarted(wait) || run.isLater(wait, nowMs)) return true;',
      },
    ],
    caughtBy: rules('turns', 'outside at a time'),
  },
  {
    name: 'no-message-ahead',
    rule: 'an instant that is near has a message',
    file: rest,
    edits: [
      {
        find: 'if (dueAtMs !== undefined && dueAtMs - deps.clock.nowMs() <= delayedMessageMaxMs) await wakeRunAt(deps, runId, dueAtMs);',
        replace: '',
      },
    ],
    caughtBy: rules('turns', 'message ahead of time'),
  },
  {
    name: 'end-effects-too-early',
    rule: 'end effects are for a run that has ended',
    file: endRun,
    edits: [{ find: 'if (!state.ended || state.ending === undefined) return;', replace: '' }],
    caughtBy: rules('turns', 'end effects only'),
  },
  {
    name: 'step-result-lost-in-block',
    rule: 'what a step came to is in the log, also when the run is blocked meanwhile',
    file: effects,
    edits: [
      {
        find: `'StepCompleted', 'StepFailed', 'StepAttemptFailed', 'RemoteTaskStartFailed',`,
        replace: `'StepFailed', 'StepAttemptFailed', 'RemoteTaskStartFailed',`,
      },
    ],
    caughtBy: rules('turns', 'blocked in a turn: what its steps'),
  },
  {
    name: 'step-failure-lost-in-block',
    rule: '... its failure',
    file: effects,
    edits: [
      {
        find: `'StepFailed', 'StepAttemptFailed', 'RemoteTaskStartFailed',`,
        replace: `'StepAttemptFailed', 'RemoteTaskStartFailed',`,
      },
    ],
    caughtBy: rules('turns', 'blocked in a turn: what its steps'),
  },
  {
    name: 'attempt-lost-in-block',
    rule: '... that of an attempt',
    file: effects,
    edits: [{ find: `'StepAttemptFailed', 'RemoteTaskStartFailed',`, replace: `'RemoteTaskStartFailed',` }],
    caughtBy: rules('turns', 'blocked in a turn: what its steps'),
  },
  {
    name: 'failed-start-lost-in-block',
    rule: '... and that of a start',
    file: effects,
    edits: [{ find: `'RemoteTaskStartFailed', 'RemoteTaskStartLost',`, replace: `'RemoteTaskStartLost',` }],
    caughtBy: rules('turns', 'blocked in a turn: what its starts'),
  },
  {
    name: 'lost-start-lost-in-block',
    rule: '... of unknown fate',
    file: effects,
    edits: [{ find: `'RemoteTaskStartLost', 'RemoteTaskStartAsked',`, replace: `'RemoteTaskStartAsked',` }],
    caughtBy: rules('turns', 'blocked in a turn: what its starts'),
  },
  {
    name: 'asked-start-lost-in-block',
    rule: '... or with questions',
    file: effects,
    edits: [{ find: `'RemoteTaskStartAsked', 'RemoteAnswerFailed',`, replace: `'RemoteAnswerFailed',` }],
    caughtBy: rules('turns', 'blocked in a turn: what its starts'),
  },

  // ----- cases that no test had covered -----
  {
    name: 'ended-task-not-read-at-once',
    rule: 'a task that has ended already is read at once',
    file: recordHandle,
    edits: [
      { find: 'const wantedAtMs = hintMs === 0 ? nowMs : nextPollAtMs(', replace: 'const wantedAtMs = nextPollAtMs(' },
    ],
    caughtBy: rules('taking', 'first read of a task'),
  },
  {
    name: 'hint-not-kept',
    rule: 'the server’s hint is kept',
    file: recordHandle,
    edits: [{ find: 'pollHintMs: hintMs === undefined || hintMs === 0 ? undefined : pollHint(hintMs),', replace: '' }],
    caughtBy: rules('taking', 'first read of a task'),
  },
  {
    name: 'no-hint-kept',
    rule: '... where it gives one',
    file: recordHandle,
    edits: [
      { find: 'hintMs === undefined || hintMs === 0 ? undefined :', replace: 'hintMs === undefined ? undefined :' },
    ],
    caughtBy: rules('taking', 'first read of a task'),
  },
  {
    name: 'handle-questions-of-any-call',
    rule: 'questions that come with a handle are for a call that answers some',
    file: recordHandle,
    edits: [{ find: 'command.answersQuestions && questions !== undefined', replace: 'questions !== undefined' }],
    caughtBy: rules('taking', 'questions that come with the handle'),
  },
  {
    name: 'handle-questions-lost',
    rule: '... and that gets them',
    file: recordHandle,
    edits: [{ find: 'command.answersQuestions && questions !== undefined', replace: 'false' }],
    caughtBy: rules('taking', 'questions that come with the handle'),
  },
  {
    name: 'unwanted-by-cancel-policy',
    rule: 'a task that comes after a timeout has the policy for that',
    file: recordHandle,
    edits: [
      {
        find: `settlement?.outcome.kind === 'timed_out' ? command.onTimeout : command.onCancel`,
        replace: 'command.onCancel',
      },
    ],
    caughtBy: rules('taking', 'task of a wait that was closed: it is cancelled'),
  },
  {
    name: 'failed-cancel-forgotten',
    rule: 'a cancel that fails is left to the end effects',
    file: recordHandle,
    edits: [
      { find: `if (reply?.kind === 'done') {`, replace: `if (reply?.kind !== undefined || policy === 'cancel') {` },
    ],
    caughtBy: rules('taking', 'task of a wait that was closed: a cancel that fails'),
  },
  {
    name: 'found-cancels-known',
    rule: 'a task that is found is not cancelled when another is known',
    file: recordHandle,
    edits: [{ find: 'options.found !== true || now?.settlement !== undefined', replace: 'true' }],
    caughtBy: rules('taking', 'task that was found'),
  },
  {
    name: 'found-left-when-closed',
    rule: '... but when the wait was closed',
    file: recordHandle,
    edits: [{ find: 'options.found !== true || now?.settlement !== undefined', replace: 'options.found !== true' }],
    caughtBy: rules('taking', 'task that was found'),
  },
  {
    name: 'unstored-task-cancelled-anyway',
    rule: 'a task whose handle no store takes is left if its call says so',
    file: recordHandle,
    edits: [
      {
        find: `command.onCancel === 'cancel' ? await transport.cancel(started.handle) : undefined`,
        replace: 'await transport.cancel(started.handle)',
      },
    ],
    caughtBy: rules('taking', 'store that takes no handle'),
  },
  {
    name: 'attempts-of-other-calls',
    rule: 'attempts of other calls say nothing of this one',
    file: lostStart,
    edits: [{ find: 'if (event.waitId !== waitId) continue;', replace: '' }],
    caughtBy: rules('letting-go', 'lost start of one of two calls'),
  },
  {
    name: 'command-of-other-call',
    rule: '... and their commands are not its own',
    file: findLostStart,
    edits: [
      {
        find: `event.type !== 'RemoteTaskRequested' || event.waitId !== waitId`,
        replace: `event.type !== 'RemoteTaskRequested'`,
      },
    ],
    caughtBy: rules('letting-go', 'lost start of a later call'),
  },
  {
    name: 'lost-start-made-again-anywhere',
    rule: 'a start is not made again at a server that tells nothing',
    file: findLostStart,
    edits: [{ find: `if (!dedupes && !finds) return 'none';`, replace: '' }],
    caughtBy: rules('letting-go', 'lost start at a server that tells nothing'),
  },
  {
    name: 'lost-start-given-up-by-other-code',
    rule: 'a start that this deployment cannot make again is for a later one',
    file: findLostStart,
    edits: [
      { find: `if (command === undefined) return 'unknown';`, replace: `if (command === undefined) return 'none';` },
    ],
    caughtBy: rules('letting-go', 'lost start that this deployment'),
  },
  {
    name: 'last-attempt-not-ambiguous',
    rule: 'a start whose last attempt was sent is ambiguous',
    file: callServer,
    edits: [{ find: 'if (wasSent || wait.mayRun === true) {', replace: 'if (wait.mayRun === true) {' }],
    caughtBy: rules('asking-again', 'last attempt that was sent'),
  },
  {
    name: 'delivery-compared-by-wait',
    rule: 'a recorded delivery is of one signal to one wait',
    file: 'lib/replay/waits/signals.ts',
    edits: [
      { find: 'delivery.waitId === waitId && delivery.inboxId === inboxId', replace: 'delivery.waitId === waitId' },
    ],
    caughtBy: rules('replaying', 'signal delivery: code that gives a wait another signal'),
  },
  {
    name: 'newer-rules-followed',
    rule: 'a history of rules that this version does not know is not followed',
    file: 'lib/replay/execution.ts',
    edits: [{ find: 'if (behaviors > replayBehaviors) {', replace: 'if (false) {' }],
    caughtBy: rules('replaying', 'history of rules'),
  },
  {
    name: 'block-stays-on-head',
    rule: 'a block that is over is taken off the head',
    file: rest,
    edits: [
      {
        find: 'task !== undefined || blocked !== undefined || failedTurns',
        replace: 'task !== undefined || failedTurns',
      },
    ],
    caughtBy: rules('turns', 'block that is over'),
  },
  {
    name: 'resume-left-in-pause',
    rule: 'a resume in between is taken in with the pauses',
    file: 'lib/decide/new-events.ts',
    edits: [{ find: `item.kind === 'pause' || item.kind === 'resume'`, replace: `item.kind === 'pause'` }],
    caughtBy: rules('turns', 'pause, resume and pause again'),
  },
  {
    name: 'heartbeat-of-unknown',
    rule: 'a heartbeat of a wait that is not there is refused',
    file: heartbeatToken,
    edits: [
      {
        find: `if (known === undefined) throw new EngineError('TOKEN_INVALID', 'no wait is known for this token');`,
        replace: 'if (known === undefined) return { settled: false, deadlineAtMs: 0 };',
      },
    ],
    caughtBy: rules('deadlines', 'heartbeat of a second to seven days'),
  },
  {
    name: 'heartbeat-above-a-second',
    rule: 'a heartbeat may be of a second',
    file: heartbeatToken,
    edits: [{ find: 'extendByMs >= 1_000', replace: 'extendByMs > 1_000' }],
    caughtBy: rules('deadlines', 'heartbeat of a second to seven days'),
  },
  {
    name: 'heartbeat-below-a-week',
    rule: '... and of seven days',
    file: heartbeatToken,
    edits: [{ find: 'extendByMs <= heartbeatMaxMs', replace: 'extendByMs < heartbeatMaxMs' }],
    caughtBy: rules('deadlines', 'heartbeat of a second to seven days'),
  },
  {
    name: 'starts-left-alone',
    rule: 'a run is not said to be blocked before its starts have ended',
    file: park,
    edits: [{ find: 'await effects.allEnd(); const { results } = effects;', replace: 'const { results } = effects;' }],
    caughtBy: rules('turns', 'turn that is blocked during a start'),
  },
  {
    name: 'time-of-last-step-alone',
    rule: 'a step that there was no time for is for another turn, whatever else there was time for',
    file: begin,
    edits: [
      {
        find: 'hasTime = begin(pass, wait, command) && hasTime;',
        replace: `hasTime = begin(pass, wait, command) && (wait.kind === 'step' || hasTime);`,
      },
    ],
    caughtBy: rules('turns', 'too little time for one of two: the other one waits'),
  },
  {
    name: 'time-of-last-start-alone',
    rule: '... also where the other is a start',
    file: begin,
    edits: [
      {
        find: 'hasTime = begin(pass, wait, command) && hasTime;',
        replace: `hasTime = begin(pass, wait, command) && (wait.kind === 'remoteTask' || hasTime);`,
      },
    ],
    caughtBy: rules('turns', 'too little time for one of two: the other one runs'),
  },

  // ----- attempts of long steps -----
  {
    name: 'ending-step-attempted',
    rule: 'an attempt of a run that is ending is not begun',
    file: workerWait,
    edits: [{ find: '!isAsked(wait) || state.ending !== undefined', replace: '!isAsked(wait)' }],
    caughtBy: rules('long-step-attempts', 'attempt of a run that is ending'),
  },
  {
    name: 'unwanted-step-attempted',
    rule: 'an attempt of a step that is no longer waited for is not begun',
    file: runLongStep,
    edits: [
      {
        find: `if (command?.kind !== 'runStep') return 'stale';`,
        replace: `if (command?.kind !== 'runStep') return 'failed';`,
      },
    ],
    caughtBy: rules('long-step-attempts', 'attempt of a step that has lost'),
  },
  {
    name: 'attempt-without-time',
    rule: 'an attempt needs time for itself',
    file: runLongStep,
    edits: [
      {
        find: `if (limits.remainingMs() < command.policy.timeoutMs + longStepReserveMs) return 'put off';`,
        replace: '',
      },
    ],
    caughtBy: rules('long-step-attempts', 'attempt that there is too little time'),
  },
  {
    name: 'unavailable-store-not-tried-again',
    rule: 'the result of an attempt is stored again when the store fails',
    file: 'lib/operations/persist.ts',
    edits: [{ find: `hasCode(error, 'STORE_UNAVAILABLE') ||`, replace: '' }],
    caughtBy: rules('long-step-attempts', 'result of an attempt: a store that fails for a while'),
  },
  {
    name: 'unknown-result-not-tried-again',
    rule: '... or does not answer',
    file: 'lib/operations/persist.ts',
    edits: [{ find: `|| hasCode(error, 'STORE_RESULT_UNKNOWN')`, replace: '' }],
    caughtBy: rules('long-step-attempts', 'result of an attempt: a store that fails for a while'),
  },
  {
    name: 'failing-store-tried-for-ever',
    rule: '... for a while',
    file: 'lib/operations/persist.ts',
    edits: [
      { find: 'if (failures >= leastTries && limits.remainingMs() < pauseMs + needsMs) throw error;', replace: '' },
    ],
    caughtBy: rules('long-step-attempts', 'result of an attempt: a store that stays away'),
  },
  {
    name: 'hopeless-store-tried-again',
    rule: '... and not when it never will',
    file: 'lib/operations/persist.ts',
    edits: [{ find: 'if (!isStoreFailure(error)) throw error; const pauseMs', replace: 'const pauseMs' }],
    caughtBy: rules('long-step-attempts', 'result of an attempt: a store that stays away'),
  },

  // ----- found by removing clauses at random -----
  {
    name: 'result-of-no-wait',
    rule: 'a result in hand that another owner has recorded is dropped',
    file: effects,
    edits: [{ find: 'return stepAt(state, waitId, event.attempt) !== undefined;', replace: 'return true;' }],
    caughtBy: rules('in-hand', 'result that another owner has recorded'),
  },
  {
    name: 'living-worker-forgotten',
    rule: 'a message that says that a worker lives is sent again by a process that cannot read its subject',
    file: runLongStep,
    edits: [{ find: 'await deps.queues.sendStep(message, longStepResendMs);', replace: '' }],
    caughtBy: rules('in-hand', 'message of a worker that lives'),
  },
  {
    name: 'token-of-any-name',
    rule: 'a workflow that gives a token a name out of bounds gets an error',
    file: 'lib/replay/context/tokens.ts',
    edits: [{ find: "checkName(name, 'the name of a token');", replace: '' }],
    caughtBy: testsIn('test/replay/commands.test.ts', 'bad arguments reject the call before there is a command'),
  },
  {
    name: 'signal-of-any-name',
    rule: '... and a signal',
    file: 'lib/replay/context/signals.ts',
    edits: [{ find: "checkName(name, 'the name of a signal');", replace: '' }],
    caughtBy: testsIn('test/replay/commands.test.ts', 'bad arguments reject the call before there is a command'),
  },
  {
    name: 'pause-without-time',
    rule: 'a turn that lost its commits pauses only if there is time for another pass after it',
    file: 'lib/operations/turn/run-turn.ts',
    edits: [{ find: 'if (limits.remainingMs() < turnReserveMs + passBackoffMaxMs) break;', replace: '' }],
    caughtBy: rules('in-hand', 'pass after pass without a commit'),
  },
  {
    name: 'turn-leaves-its-start',
    rule: 'a turn does not end before its remote starts have (T5)',
    file: pass,
    edits: [{ find: `finally { await this.#pass.effects.allEnd('outside'); }`, replace: 'finally { void 0; }' }],
    caughtBy: rules('in-hand', 'start under way when its run is terminated'),
  },
  {
    name: 'unwatched-promise-throws',
    rule: 'a promise of a token that is not awaited rejects unseen',
    file: 'lib/replay/context/tokens.ts',
    edits: [
      {
        find: 'promise.catch(() => undefined); return { token: external.token',
        replace: 'return { token: external.token',
      },
    ],
    caughtBy: testsIn('test/engine/external-tokens.test.ts', 'promise that nobody waits for'),
  },
  {
    name: 'child-input-of-any-size',
    rule: 'the input of a child is bounded where the workflow gives it',
    file: 'lib/replay/context/children.ts',
    edits: [{ find: 'checkJsonBytes(`the input of child "${workflow.name}" is`, jsonBytes(given));', replace: '' }],
    caughtBy: testsIn('test/replay/commands.test.ts', 'bad arguments of a child of more than 2 MiB'),
  },
  {
    name: 'dropped-wait-ends-the-process',
    rule: 'a wait that is not awaited rejects unseen',
    file: 'lib/replay/context/handled.ts',
    edits: [{ find: 'promise.catch(() => undefined); return promise;', replace: 'return promise;' }],
    caughtBy: rules('dropped', 'step that nobody waits for'),
  },
  {
    name: 'short-step-not-closed',
    rule: 'a short step that is closed in the turn that asks for it is closed in the log',
    file: 'lib/replay/waits/requests.ts',
    edits: [
      {
        find: '(Number(command.waitId) > this.#lastRecorded && command.policy.long)',
        replace: 'Number(command.waitId) > this.#lastRecorded',
      },
    ],
    caughtBy: rules('dropped', 'step that is dropped in the turn'),
  },
];
