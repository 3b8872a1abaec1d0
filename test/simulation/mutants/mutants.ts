import { rules, simulation, type Mutant, storePart } from './mutant.js';
import { capsMutants } from './caps.js';
import { callbacksMutants } from './callbacks.js';
import { clausesMutants } from './clauses.js';
import { discoveryMutants } from './discovery.js';
import { endingMutants } from './ending.js';
import { generationsMutants } from './generations.js';
import { freshMutants } from './fresh.js';
import { itemsMutants } from './items.js';
import { jobsMutants } from './jobs.js';
import { lanesMutants } from './lanes.js';
import { servedMutants } from './served.js';
import { limitsMutants } from './limits.js';
import { namesMutants } from './names.js';
import { tenantMutants } from './tenants.js';
import { remoteMutants } from './remote.js';
import { patientMutants } from './patient.js';
import { probeMutants } from './probe.js';
import { peopleMutants } from './people.js';
import { proofsMutants } from './proofs.js';
import { pushesMutants } from './pushes.js';
import { servedPushesMutants } from './served-pushes.js';
import { requestsMutants } from './requests.js';
import { progressMutants } from './progress.js';
import { stepsMutants } from './steps.js';
import { textHooksMutants } from './text-hooks.js';
import { tryingMutants } from './trying.js';
import { untestedMutants } from './untested.js';
import { workflowMutants } from './workflow.js';

const nextRun = 'lib/operations/turn/next-run.ts';
const releaseMarkers = 'lib/operations/turn/release-markers.ts';
const pollReply = 'lib/operations/remote-task/poll-reply.ts';
const startAttempt = 'lib/operations/remote-task/start-attempt.ts';
const callServer = 'lib/operations/remote-task/call-server.ts';
const lookForTask = 'lib/operations/remote-task/look-for-task.ts';
const lostStart = 'lib/decide/lost-start.ts';
const rest = 'lib/operations/turn/rest.ts';
const commits = 'lib/operations/turn/commit.ts';
const pass = 'lib/operations/turn/pass.ts';
const begin = 'lib/operations/turn/begin.ts';
const runInHand = 'lib/operations/turn/run-in-hand.ts';
const endRun = 'lib/operations/turn/end-run.ts';
const runTurn = 'lib/operations/turn/run-turn.ts';
const startRemoteTask = 'lib/operations/remote-task/start-remote-task.ts';
const recordHandle = 'lib/operations/remote-task/record-handle.ts';
const stopRemote = 'lib/operations/remote-task/stop-remote.ts';
const sighting = 'lib/decide/bad-read.ts';
const runLongStep = 'lib/operations/steps/run-long-step.ts';
const pollTask = 'lib/operations/remote-task/poll-task.ts';

export const mutants: readonly Mutant[] = [
  ...capsMutants,
  ...callbacksMutants,
  ...clausesMutants,
  ...discoveryMutants,
  ...endingMutants,
  ...freshMutants,
  ...generationsMutants,
  ...itemsMutants,
  ...jobsMutants,
  ...lanesMutants,
  ...servedMutants,
  ...limitsMutants,
  ...namesMutants,
  ...tenantMutants,
  ...remoteMutants,
  ...peopleMutants,
  ...proofsMutants,
  ...pushesMutants,
  ...servedPushesMutants,
  ...requestsMutants,
  ...patientMutants,
  ...probeMutants,
  ...progressMutants,
  ...stepsMutants,
  ...textHooksMutants,
  ...tryingMutants,
  ...untestedMutants,
  ...workflowMutants,

  // ----- questions of remote servers -----
  {
    name: 'asked-attempt-forgotten',
    rule: 'questions on the item mean that the attempt ended with them',
    file: startRemoteTask,
    edits: [
      {
        find: 'if (asked?.round !== undefined && asked.round > wait.rounds) return askedAgain({ deps, start, number, token });',
        replace: '',
      },
    ],
    caughtBy: rules('asking', 'asked before there is a task'),
  },
  {
    name: 'question-wake-not-repeated',
    rule: 'a read that shows questions which no turn has taken in sends the wake',
    file: pollReply,
    edits: [
      {
        find: '(token.questions?.recorded ?? 0) > (token.questions?.taken ?? 0)',
        replace: '(token.questions?.recorded ?? 0) < 0',
      },
    ],
    caughtBy: rules('asking', 'asked by a task'),
  },
  {
    name: 'questions-taken-first',
    rule: 'markers are moved last: questions count as taken in when the head has its marker',
    file: rest,
    edits: [
      { find: 'await takeQuestions(pass); await takeProgress', replace: 'await takeProgress' },
      {
        find: 'const marker = await publish(pass, dueAtMs); const isNew',
        replace: 'await takeQuestions(pass); const marker = await publish(pass, dueAtMs); const isNew',
      },
    ],
    caughtBy: rules('asking', 'questions taken last'),
  },
  {
    name: 'answer-key-fresh',
    rule: 'every delivery of one answer carries the same key',
    file: 'lib/operations/remote-task/answer-remote.ts',
    edits: [
      { find: 'const key = remoteKeyOf(runId, waitId, deps.digest);', replace: 'const key = deps.random.hex(16);' },
    ],
    caughtBy: rules('asking', 'answer in the log'),
  },
  // ----- ending -----
  {
    name: 'no-ending-event',
    rule: 'RunEnding is in the log before anything is closed',
    file: commits,
    edits: [
      {
        find: 'const write = () => deps.store.log.commitEnding(runId, commit, inboxCount, outcome); if (!(await decide(pass, write, events))) return false; noteCommitted(deps, run.head, commit, pass.options.trace); effects.abandonSteps(); await finishRun(deps, runId, limits); return true;',
        replace: `await Promise.all([...run.state.openTokens.keys()].map((waitId) => deps.store.tokens.close(runId, waitId, { writerId: deps.random.hex(16), atMs, outcome: 'run_ended' })));`,
      },
    ],
    caughtBy: rules('ending', 'ending event'),
  },
  {
    name: 'ending-without-inbox-count',
    rule: 'ending is conditional on the inbox count as seen',
    file: storePart('log'),
    edits: [{ find: `statusIs('running'), inboxCountIs(inboxCount)]`, replace: `statusIs('running')]` }],
    caughtBy: rules('ending', 'ending with the head'),
  },
  {
    name: 'end-without-inbox-count',
    rule: 'ending is conditional on the inbox count as seen, also without open waits',
    file: storePart('log'),
    edits: [{ find: `...(seen.status === 'running' ? [inboxCountIs(seen.inboxCount)] : [])`, replace: '' }],
    caughtBy: rules('ending', 'ending with the head'),
  },
  {
    name: 'ending-without-head',
    rule: 'RunEnding is one transaction with the head',
    file: storePart('log'),
    edits: [
      {
        find: `return this.#commitWithHead(runId, commit, { set: headFields.write({ status: 'ending',`,
        replace: `if (!(await this.commit(runId, commit))) return false; const head: Omit<Update, 'kind' | 'key'> = { set: headFields.write({ status: 'ending',`,
      },
      {
        find: `conditions: [itemExists, statusIs('running'), inboxCountIs(inboxCount)], });`,
        replace: `conditions: [itemExists] }; void inboxCount; await this.#table.write({ kind: 'update', key: headKey(runId), ...head }); return true;`,
      },
    ],
    caughtBy: rules('ending', 'ending with the head'),
  },
  {
    name: 'inbox-without-head',
    rule: 'a signal is one transaction with the head',
    file: storePart('inbox'),
    edits: [
      {
        find: `const result = await this.#table.transact([ { kind: 'update', key: headKey(record.runId), increment: { inboxCount: 1 }, conditions: [itemExists, statusIs('running')] },`,
        replace: `const seen = await this.#table.get(headKey(record.runId)); if (seen?.['status'] !== 'running') return seen === undefined ? 'run_not_found' : 'run_ended'; const result = await this.#table.transact([`,
      },
      { find: 'const [head, inbox] = result.refused;', replace: 'const [inbox, head] = result.refused;' },
    ],
    caughtBy: rules('ending', 'ending with the head'),
  },
  {
    name: 'no-close',
    rule: 'waits are closed before the terminal commit',
    file: endRun,
    edits: [{ find: 'await closeWaits(deps, runId, [...waitIds], records.tokens);', replace: '' }],
    caughtBy: rules('ending', 'end effects'),
  },
  {
    name: 'no-tombstone',
    rule: 'a wait is closed whether its item exists or not',
    file: storePart('tokens'),
    edits: [
      {
        find: `conditions: [notSettled],
          });
          return token;`,
        replace: `conditions: [itemExists, notSettled],
          });
          return token;`,
      },
    ],
    caughtBy: rules('ending', 'tombstone'),
  },
  {
    name: 'close-over-settlement',
    rule: 'a wait is closed only if it has no settlement',
    file: storePart('tokens'),
    edits: [
      {
        find: `conditions: [notSettled],
          });
          return token;`,
        replace: `conditions: [],
          });
          return token;`,
      },
    ],
    caughtBy: rules('ending', 'close only what is open'),
  },
  {
    name: 'end-without-head',
    rule: 'the terminal commit is one transaction with the head',
    file: storePart('log'),
    edits: [
      {
        find: `const result = await this.#table.transact([
          { kind: 'put', item: commitItem(runId, commit), conditions: [itemAbsent] },
          { kind: 'update', key: headKey(runId), ...head },
          ...others,
        ]);
        return result.ok || wroteIt(result.refused[0]?.old, commit);`,
        replace: `if (!(await this.commit(runId, commit))) return false;
        return (await this.#table.write({ kind: 'update', key: headKey(runId), ...head })).ok;`,
      },
    ],
    caughtBy: simulation('ends while the loser runs', 100),
  },
  {
    name: 'ended-run-not-cleaned',
    rule: 'a turn of an ended run does the end effects and clears every marker',
    file: runTurn,
    edits: [
      {
        find: 'if (isMarked(records)) await afterEnd(deps, runId, options.limits, async () => records);',
        replace: 'void isMarked;',
      },
    ],
    caughtBy: rules('ending', 'end effects'),
  },
  {
    name: 'close-without-marker',
    rule: 'end effects are guarded by a marker',
    file: storePart('tokens'),
    edits: [
      {
        find: 'set: { ...tokenFields.write({ settlement }), ...marker(runId, atMs) }, remove: listAttributes,',
        replace: `set: tokenFields.write({ settlement }), remove: [...listAttributes, 'dueShard', 'dueAtMs'],`,
      },
    ],
    caughtBy: rules('ending', 'end effects'),
  },
  {
    name: 'terminate-in-line',
    rule: 'terminate goes first',
    file: pass,
    edits: [
      {
        find: 'if (terminate !== undefined) return commitEnd(this.#pass, this.#newEvents(), terminated(terminate)); if (run.isOverdue(nowMs))',
        replace:
          'if (terminate !== undefined && workflow === undefined) return commitEnd(this.#pass, this.#newEvents(), terminated(terminate)); if (run.isOverdue(nowMs))',
      },
      {
        find: 'if (terminate !== undefined) return commitEnd(this.#pass, events, terminated(terminate));',
        replace: '',
      },
    ],
    caughtBy: rules('ending', 'terminate goes first: the settlement'),
  },

  {
    name: 'results-not-kept',
    rule: 'what steps ended with is committed although the end was refused',
    file: commits,
    edits: [{ find: 'effects.takeBack(events.filter((event) => !run.isOnItem(event)));', replace: '' }],
    caughtBy: rules('ending', 'results kept'),
  },
  {
    name: 'last-signals-unread',
    rule: 'a signal that was read on the last way is not handed on',
    file: pass,
    edits: [{ find: 'execution.takeDerived(Infinity)', replace: 'execution.takeDerived(execution.lastRecordedWait)' }],
    caughtBy: simulation('continue as new at once', 20),
  },
  {
    name: 'signals-not-handed-on',
    rule: 'unread signals go on with the run',
    file: nextRun,
    edits: [
      { find: 'await deps.store.inbox.seed({ ...item, runId, position });', replace: 'void position; void item;' },
    ],
    caughtBy: simulation('continue as new with signals', 20),
  },
  {
    name: 'child-without-look-at-parent',
    rule: 'a child whose parent has let go of it before it was there ends in its first turn',
    file: pass,
    edits: [{ find: 'run.isNew ? await this.#stopOfParent() : undefined', replace: 'undefined' }],
    caughtBy: rules('child-ends', 'start of a child whose parent has let go of it'),
  },
  {
    name: 'child-not-stopped',
    rule: 'a child that is no longer waited for is stopped',
    file: releaseMarkers,
    edits: [
      {
        find: 'if (token.child !== undefined && !(await stopChild(deps, token, token.child))) return false;',
        replace: '',
      },
    ],
    caughtBy: simulation('cancel with children', 20),
  },
  {
    name: 'wait-not-let-go',
    rule: 'a wait that the workflow no longer waits for is closed',
    file: begin,
    edits: [
      {
        find: 'else if (command === undefined) letGo(pass, wait);',
        replace: 'else if (command === undefined) void letGo;',
      },
    ],
    caughtBy: rules('ending', 'let go'),
  },

  // ----- committing -----
  {
    name: 'commit-unconditional',
    rule: 'a commit is put if absent',
    file: storePart('log'),
    edits: [
      {
        find: `const result = await this.#table.write({ kind: 'put', item: commitItem(runId, commit), conditions: [itemAbsent] });`,
        replace: `const result = await this.#table.write({ kind: 'put', item: commitItem(runId, commit), conditions: [] });`,
      },
    ],
    caughtBy: rules('committing', 'commit if absent'),
  },
  {
    name: 'writer-id-of-turn',
    rule: 'the writer id is fresh for each distinct content',
    file: commits,
    edits: [
      {
        find: 'const commit = { seq, writerId: deps.random.hex(16), events };',
        replace: 'const commit = { seq, writerId: run.head.runId, events };',
      },
    ],
    caughtBy: rules('committing', 'writer id: a turn'),
  },

  // ----- markers -----
  {
    name: 'markers-first',
    rule: 'markers go last',
    file: commits,
    edits: [
      {
        find: 'run.applyCommit(seq, events);',
        replace:
          'run.applyCommit(seq, events); const { releaseInbox, releaseTokens } = await import("./end-run.js"); await releaseTokens(deps, [...run.tokens.values()].filter((token) => token.dueAtMs !== undefined && run.state.settled.has(token.waitId)), pass.limits); await releaseInbox(deps, run.head.runId, [...run.inbox.values()].filter((item) => run.state.takenInbox.has(item.inboxId)), pass.limits);',
      },
    ],
    caughtBy: rules('markers', 'markers last'),
  },
  {
    name: 'head-marker-first',
    rule: 'the head marker is kept until the run is quiet',
    file: commits,
    edits: [
      {
        find: 'run.applyCommit(seq, events);',
        replace:
          'run.applyCommit(seq, events); const due = run.dueInstants((waitId) => effects.has(waitId)); await deps.store.headMarkers.set(run.head.runId, { seq, dueAtMs: due.length === 0 ? undefined : Math.min(...due), publishedSeq: undefined, blocks: run.head.blocks });',
      },
    ],
    caughtBy: rules('markers', 'head marker kept until quiet'),
  },
  {
    name: 'head-marker-of-older-owner',
    rule: 'the head marker carries the commit seq and is only replaced by one that is not older',
    file: storePart('head-markers'),
    edits: [
      {
        find: `remove: [...failureAttributes, ...(dueAtMs === undefined ? markerAttributes : [])],
          conditions: [itemExists, markerNotNewerThan(seq), noBlockSince(blocks)],`,
        replace: `remove: [...failureAttributes, ...(dueAtMs === undefined ? markerAttributes : [])],
          conditions: [itemExists, noBlockSince(blocks)],`,
      },
    ],
    caughtBy: rules('markers', 'dueSeq'),
  },
  {
    name: 'head-marker-of-block-removed',
    rule: 'the head marker of a run that has been blocked since it was read is left standing',
    file: storePart('head-markers'),
    edits: [{ find: 'markerNotNewerThan(seq), noBlockSince(blocks)]', replace: 'markerNotNewerThan(seq)]' }],
    caughtBy: rules('markers', 'blocks'),
  },
  {
    name: 'start-without-marker',
    rule: 'a start leaves a marker that guards its wake',
    file: 'lib/operations/requests/new-head.ts',
    edits: [{ find: 'dueAtMs: startAtMs ?? nowMs,', replace: '' }],
    caughtBy: rules('markers', 'start marker'),
  },
  {
    name: 'inbox-without-marker',
    rule: 'a signal leaves a marker that guards its wake',
    file: 'lib/operations/requests/inbox.ts',
    edits: [{ find: 'atMs, dueAtMs: atMs, ...request', replace: 'atMs, ...request' }],
    caughtBy: rules('markers', 'inbox marker'),
  },
  {
    name: 'settlement-without-marker',
    rule: 'a settlement leaves a marker that guards its wake',
    file: storePart('tokens'),
    edits: [
      {
        find: 'set: { ...tokenFields.write({ settlement, trail: settlement.trail }), ...marker(runId, settlement.atMs) },',
        replace: 'set: tokenFields.write({ settlement }),',
      },
    ],
    caughtBy: rules('markers', 'settlement marker'),
  },

  // ----- starting -----
  {
    name: 'item-after-start',
    rule: 'the token item is put before the start',
    file: startRemoteTask,
    edits: [
      {
        find: 'const claim = await claimAttempt(deps, start, number, writerId);',
        replace: `const known = await deps.store.tokens.read(start.runId, wait.waitId); const early = known === undefined && found.kind === 'target' ? await callServer({ deps, start, number, token: freshToken(deps, start), target: found.target }) : undefined; const claim = await claimAttempt(deps, start, number, writerId);`,
      },
      {
        find: 'takeReply(attempt, await callServer(attempt))',
        replace: 'takeReply(attempt, early ?? await callServer(attempt))',
      },
    ],
    caughtBy: rules('starting', 'token item before the start'),
  },
  {
    name: 'start-despite-settlement',
    rule: 'a settlement on the old item means no start',
    file: startRemoteTask,
    edits: [
      {
        find: 'if (token.settlement !== undefined || token.handle !== undefined) return { token };\n  const asked',
        replace: 'if (token.handle !== undefined) return { token };\n  const asked',
      },
    ],
    caughtBy: rules('starting', 'old item: a settlement'),
  },
  {
    name: 'start-despite-handle',
    rule: 'a handle on the old item means no start',
    file: startRemoteTask,
    edits: [
      {
        find: 'if (token.settlement !== undefined || token.handle !== undefined) return { token };\n  const asked',
        replace: 'if (token.settlement !== undefined) return { token };\n  const asked',
      },
    ],
    caughtBy: rules('starting', 'old item: a handle on it means that a server'),
  },
  {
    name: 'anyone-starts',
    rule: 'only the writer of an attempt calls a server that does not dedupe',
    file: startRemoteTask,
    edits: [{ find: 'if (!isOwner) return', replace: 'if (!isOwner && deps.clock.nowMs() < 0) return' }],
    caughtBy: rules('starting', 'numbered attempts: only the one'),
  },
  {
    name: 'owner-starts-again',
    rule: '... and once',
    file: startRemoteTask,
    edits: [
      {
        find: 'token.writerId === writerId && !start.called.has(writerId)',
        replace: 'token.writerId === writerId',
      },
    ],
    caughtBy: rules('starting', 'numbered attempts: the one who called'),
  },
  {
    name: 'attempt-claimed-twice',
    rule: 'an attempt is claimed by its number',
    file: storePart('starts'),
    edits: [
      {
        find: '[itemExists, notSettled, noHandle, attemptIs(attempt - 1)]',
        replace: '[itemExists, notSettled, noHandle]',
      },
    ],
    caughtBy: rules('starting', 'numbered attempts: two owners'),
  },
  {
    name: 'attempts-not-numbered',
    rule: 'a known-refused attempt is in the log and the next one has the next number',
    file: startRemoteTask,
    edits: [{ find: 'const number = wait.failedAttempts + 1;', replace: 'const number = 1;' }],
    caughtBy: rules('starting', 'numbered attempts: a refused attempt'),
  },
  {
    name: 'ambiguous-despite-handle',
    rule: 'RemoteStartAmbiguous only if there is no handle',
    file: startAttempt,
    edits: [{ find: `{ server }), 'handle');`, replace: '{ server }));' }],
    caughtBy: rules('starting', 'ambiguous only without handle'),
  },
  {
    name: 'handle-despite-settlement',
    rule: 'a handle is stored only if there is no settlement',
    file: storePart('starts'),
    edits: [
      { find: 'conditions: [itemExists, notSettled, ...(started', replace: 'conditions: [itemExists, ...(started' },
    ],
    caughtBy: rules('starting', 'handle only without settlement'),
  },
  {
    name: 'no-hand-cancel',
    rule: 'the task of a refused handle is cancelled with the handle in hand',
    file: recordHandle,
    edits: [{ find: `? await transport.cancel(handle) : undefined`, replace: `? { kind: 'done' } : undefined` }],
    caughtBy: rules('starting', 'handle only without settlement'),
  },
  {
    name: 'unstored-handle-forgotten',
    rule: 'the task of a handle that no store takes is cancelled',
    file: recordHandle,
    edits: [{ find: 'await transport.cancel(started.handle)', replace: `{ kind: 'done' as const }` }],
    caughtBy: rules('starting', 'numbered attempts: the one who called'),
  },
  {
    name: 'handle-stored-once',
    rule: 'a handle in hand is stored again when the store fails',
    file: recordHandle,
    edits: [
      {
        find: 'return await persist(() => deps.store.starts.storeHandle(runId, wait.waitId, started), needsMs, lastTries);',
        replace: 'return await deps.store.starts.storeHandle(runId, wait.waitId, started);',
      },
    ],
    caughtBy: rules('starting', 'handle in hand'),
  },
  {
    name: 'key-per-attempt',
    rule: 'every attempt of one call carries the same key',
    file: callServer,
    edits: [
      {
        find: 'idempotencyKey: callKeyOf(deps, runId, command), answersQuestions',
        replace: 'idempotencyKey: `${callKeyOf(deps, runId, command)}-${token.attempt}`, answersQuestions',
      },
    ],
    caughtBy: rules('starting', 'one key'),
  },
  {
    name: 'key-left-out',
    rule: 'every attempt of one call carries a key',
    file: 'lib/replay/call-key.ts',
    edits: [{ find: 'key ?? remoteKeyOf(runId, waitId, digest)', replace: "key ?? (waitId === '' ? runId : '')" }],
    caughtBy: rules('starting', 'one key'),
  },
  {
    name: 'start-repeated-when-not-found',
    rule: 'a start of unknown fate is asked for, never repeated',
    file: startRemoteTask,
    edits: [
      { find: 'if (wait.look !== undefined) return', replace: 'if (wait.look === 1) return' },
      { find: 'if (!isOwner) return', replace: 'if (!isOwner && wait.look === undefined) return' },
    ],
    caughtBy: rules('starting', 'asked for: a start that never arrived'),
  },
  {
    name: 'never-asked-for',
    rule: 'a process that finds a start of unknown fate asks the server before it settles',
    file: lookForTask,
    edits: [
      {
        find: 'attempt.target.mayLook ? lookLater',
        replace: 'attempt.target.mayLook && attempt.number > 99 ? lookLater',
      },
    ],
    caughtBy: rules('starting', 'asked for: the task of a process that died'),
  },
  {
    name: 'found-over-handle',
    rule: 'a task that is found does not replace one that is known',
    file: storePart('starts'),
    edits: [{ find: '...(started.onlyWithoutHandle === true ? [noHandle] : [])', replace: '' }],
    caughtBy: rules('gone', 'found only without handle'),
  },
  {
    name: 'lost-start-forgotten',
    rule: 'the task of a start of unknown fate is cancelled with its wait',
    file: lostStart,
    edits: [{ find: 'return wasSent || attempt > known;', replace: 'return wasSent && attempt > known;' }],
    caughtBy: rules('starting', 'lost start: a task whose starter died'),
  },
  {
    name: 'lost-start-always',
    rule: '... and only if it may have made one',
    file: lostStart,
    edits: [{ find: 'return wasSent || attempt > known;', replace: 'return wasSent || attempt >= known;' }],
    caughtBy: rules('starting', 'lost start: one that was turned away'),
  },
  {
    name: 'policy-ignored',
    rule: 'a task that its call leaves is left',
    file: stopRemote,
    edits: [{ find: "if (policy === 'leave' || !Object", replace: 'if (!Object' }],
    caughtBy: rules('gone', 'policy: a task that its call leaves'),
  },
  {
    name: 'sightings-not-reset',
    rule: 'sightings of a lost task are counted in a row',
    file: storePart('polls'),
    edits: [{ find: '...defined({ remove: poll.sightings === undefined ? noBadReads : undefined }),', replace: '' }],
    caughtBy: rules('gone', 'sightings in a row: a state in between'),
  },
  {
    name: 'lost-at-second-sight',
    rule: 'a task is lost at the third sighting',
    file: sighting,
    edits: [
      { find: '{ of, count: before.count + 1, atMs: nowMs }', replace: '{ of, count: before.count + 2, atMs: nowMs }' },
    ],
    caughtBy: rules('gone', 'sightings in a row: three of them'),
  },
  {
    name: 'expiry-by-wrong-clock',
    rule: 'a time to live is counted from the start, by our own clock',
    file: sighting,
    edits: [{ find: 'const ageMs = nowMs - (task.startedAtMs ?? task.createdAtMs);', replace: 'const ageMs = nowMs;' }],
    caughtBy: rules('gone', 'time to live by our own clock'),
  },
  {
    name: 'no-grace',
    rule: 'a task is not missed within a minute of its start',
    file: sighting,
    edits: [{ find: "if (ageMs < taskMissingGraceMs) return { kind: 'open' };", replace: '' }],
    caughtBy: rules('gone', 'grace: a server whose replicas lag'),
  },
  {
    name: 'handle-not-believed',
    rule: 'the handle on the item is the record of the start',
    file: runInHand,
    edits: [
      {
        find: 'wait.handle !== undefined || this.tokens.get(wait.waitId)?.handle !== undefined || this.isSettled(wait)',
        replace: 'wait.handle !== undefined || this.isSettled(wait)',
      },
    ],
    caughtBy: rules('starting', 'handle on the item'),
  },

  // ----- remembering -----
  {
    name: 'newer-commits-ignored',
    rule: 'a run is read whole when its log has grown since it was remembered',
    file: 'lib/operations/turn/resume-run.ts',
    edits: [{ find: 'commits.length === 0 &&', replace: 'commits.length >= 0 &&' }],
    caughtBy: rules('remembering', 'newer commits'),
  },
  {
    name: 'block-not-noticed',
    rule: 'a run is read whole when it has been blocked since it was remembered',
    file: 'lib/operations/turn/resume-run.ts',
    edits: [{ find: 'head.blocks === blocks &&', replace: '' }],
    caughtBy: rules('remembering', 'blocks'),
  },
  {
    name: 'inbox-count-not-looked-at',
    rule: 'the head says how much was accepted, and no less is read',
    file: 'lib/operations/turn/resume-run.ts',
    edits: [
      {
        find: 'newer.head.inboxCount > state.takenInbox.size',
        replace: 'newer.head.inboxCount < state.takenInbox.size',
      },
    ],
    caughtBy: rules('remembering', 'inbox count'),
  },
  {
    name: 'remembered-without-commit',
    rule: 'a run is remembered only from a turn whose commits came through',
    file: pass,
    edits: [
      {
        find: `await this.#pass.effects.allEnd('outside');`,
        replace: `await this.#pass.effects.allEnd('outside'); keepWarm(this.#pass, workflow, execution);`,
      },
    ],
    caughtBy: rules('remembering', 'what did not get into the log'),
  },

  // ----- settling -----
  {
    name: 'settle-over-settlement',
    rule: 'settle if there is no settlement',
    file: storePart('tokens'),
    edits: [{ find: '[itemExists, notSettled, ...conditionsOf', replace: '[itemExists, ...conditionsOf' }],
    caughtBy: rules('settling', 'settle if there is no settlement: of two'),
  },
  {
    name: 'settle-read-then-write',
    rule: 'settle is one conditional write, not a read and a write',
    file: storePart('tokens'),
    edits: [
      {
        find: 'const { ok, token } = await updateToken(this.#table, runId, waitId, { set: { ...tokenFields.write({ settlement, trail: settlement.trail }), ...marker(runId, settlement.atMs) }, remove: listAttributes, conditions: [itemExists, notSettled,',
        replace:
          'const before = await this.read(runId, waitId); if (before?.settlement !== undefined) return { settled: before.settlement.writerId === settlement.writerId, token: before }; const { ok, token } = await updateToken(this.#table, runId, waitId, { set: { ...tokenFields.write({ settlement, trail: settlement.trail }), ...marker(runId, settlement.atMs) }, remove: listAttributes, conditions: [itemExists,',
      },
    ],
    caughtBy: rules('settling', 'settle if there is no settlement: of two'),
  },
  {
    name: 'own-settlement-not-recognised',
    rule: 'the own writer id on the old item means a lost acknowledgement',
    file: storePart('tokens'),
    edits: [{ find: 'settled: ok || token?.settlement?.writerId === settlement.writerId', replace: 'settled: ok' }],
    caughtBy: rules('settling', 'settle if there is no settlement: the winner'),
  },
  {
    name: 'settle-without-item',
    rule: 'settle if the item exists',
    file: storePart('tokens'),
    edits: [{ find: '[itemExists, notSettled, ...conditionsOf', replace: '[notSettled, ...conditionsOf' }],
    caughtBy: rules('settling', 'settle if the item exists'),
  },
  {
    name: 'takes-in-unrequested',
    rule: 'items not requested in the commits read are left alone',
    file: 'lib/decide/new-events.ts',
    edits: [
      {
        find: `for (const waitId of state.openTokens.keys()) {
          const settlement`,
        replace: `for (const waitId of tokens.keys()) {
          if (state.settled.has(waitId)) continue;
          const settlement`,
      },
    ],
    caughtBy: rules('settling', 'only what was requested'),
  },

  // ----- long steps -----
  {
    name: 'step-claimed-regardless',
    rule: 'an attempt of a long step is claimed on the due instant that was read',
    file: storePart('long-steps'),
    edits: [
      {
        find: 'conditions: [notSettled, dueStill(attempt.seenDueAtMs)],',
        replace: 'conditions: [notSettled],',
      },
    ],
    caughtBy: rules('long-steps', 'long step claim'),
  },
  {
    name: 'step-beats-without-claim',
    rule: 'a beat of a long step is conditional on the claim',
    file: storePart('long-steps'),
    edits: [{ find: 'conditions: [notSettled, writerIs(beat.writerId)],', replace: 'conditions: [notSettled],' }],
    caughtBy: rules('long-steps', 'long step beat: a worker whose lease'),
  },
  {
    name: 'step-beats-after-settlement',
    rule: 'a beat of a long step is conditional on no settlement',
    file: storePart('long-steps'),
    edits: [
      {
        find: 'conditions: [notSettled, writerIs(beat.writerId)],',
        replace: 'conditions: [writerIs(beat.writerId)],',
      },
    ],
    caughtBy: rules('long-steps', 'long step beat: a worker whose step'),
  },
  {
    name: 'step-strikes-not-counted',
    rule: 'a claim counts a strike, and three that stand end the step',
    file: runLongStep,
    edits: [{ find: 'strikes: step.strikes + 1,', replace: 'strikes: 0,' }],
    caughtBy: rules('long-steps', 'long step strikes: three'),
  },
  {
    name: 'step-failure-keeps-strikes',
    rule: 'a failure that is recorded takes the strikes back',
    file: runLongStep,
    edits: [{ find: 'strikes: 0,', replace: 'strikes: work.token.step.strikes + 1,' }],
    caughtBy: rules('long-steps', 'long step strikes: attempts'),
  },
  {
    name: 'step-failure-without-claim',
    rule: 'a failure is recorded under the claim',
    file: storePart('long-steps'),
    edits: [{ find: '[notSettled, writerIs(claim)]', replace: '[notSettled]' }],
    caughtBy: rules('long-steps', 'long step failure'),
  },
  {
    name: 'step-lease-for-ever',
    rule: 'a worker without beats is taken over when its lease has run out',
    file: runLongStep,
    edits: [
      {
        find: 'atMs: nowMs, leaseUntilMs: nowMs + longStepLeaseMs,',
        replace: 'atMs: nowMs, leaseUntilMs: nowMs + 1000 * longStepLeaseMs,',
      },
    ],
    caughtBy: rules('long-steps', 'long step strikes: three'),
  },
  {
    name: 'step-message-not-made-up-for',
    rule: 'the sweep sends the message of a long step again',
    file: 'lib/operations/sweep/fan-out-due.ts',
    edits: [
      { find: '!entry.settled && entry.isLongStep)', replace: '!entry.settled && entry.isLongStep && nowMs < 0)' },
    ],
    caughtBy: rules('long-steps', 'long step message'),
  },

  // ----- waking and polling -----
  {
    name: 'wake-dedup-of-run',
    rule: 'each wake has a fresh dedup id',
    file: 'lib/operations/wake.ts',
    edits: [
      { find: 'dedupId: string = deps.random.hex(16)', replace: 'dedupId: string = runId' },
      { find: '{ runId, news: [news] }, deps.random.hex(16)', replace: '{ runId, news: [news] }, runId' },
    ],
    caughtBy: rules('waking', 'fresh dedup id: the queue'),
  },
  {
    name: 'sweep-dedup-of-run',
    rule: '... a sweep its minute',
    file: 'lib/operations/sweep/fan-out-due.ts',
    edits: [{ find: '-${Math.floor(nowMs / sweepIntervalMs)}`', replace: '`' }],
    caughtBy: rules('waking', 'fresh dedup id: the next sweep'),
  },
  {
    name: 'poll-without-claim',
    rule: 'a poll claims before it reads',
    file: pollTask,
    edits: [
      {
        find: 'hop ?? (await claim(deps, polled, dueAtMs))',
        replace: 'hop ?? { claimedDueAtMs: claimUntilMs(polled, deps.clock.nowMs()) }',
      },
    ],
    caughtBy: rules('waking', 'poll claims before it reads'),
  },
  {
    name: 'poll-claims-regardless',
    rule: 'a claim is conditional on the due instant that was read',
    file: storePart('polls'),
    edits: [{ find: 'conditions: [notSettled, dueStill(claim.seenDueAtMs)],', replace: 'conditions: [notSettled],' }],
    caughtBy: rules('waking', 'poll claims before it reads: two'),
  },
  {
    name: 'poll-keeps-settlement-to-itself',
    rule: 'a poll that finds a settlement with a standing marker sends the wake',
    file: pollTask,
    edits: [{ find: 'if (token.dueAtMs !== undefined) await wakeRunFor(deps, runId, { waitId });', replace: '' }],
    caughtBy: rules('waking', 'poll sees settled: a poll'),
  },
  {
    name: 'claim-keeps-settlement-to-itself',
    rule: '... also when the claim finds it',
    file: pollTask,
    edits: [{ find: "await wakeRunFor(deps, runId, { waitId }); return 'settled';", replace: "return 'settled';" }],
    caughtBy: rules('waking', 'poll sees settled: a claim'),
  },

  // ----- lifecycle events -----
  {
    name: 'published-before-commit',
    rule: 'a lifecycle event is published after the commit that it comes from',
    file: commits,
    edits: [
      {
        find: 'const commit = { seq, writerId: deps.random.hex(16), events };',
        replace:
          'const commit = { seq, writerId: deps.random.hex(16), events }; outbox?.add(lifecycleEventsOf(run.head, run.state, { seq, events }, ((waitId) => run.settlementOf(waitId)))); await outbox?.publish();',
      },
      {
        find: 'outbox?.add(lifecycleEventsOf(run.head, run.state, { seq, events }, (waitId) => run.settlementOf(waitId)));',
        replace: '',
      },
    ],
    caughtBy: rules('publishing', 'each once'),
  },
  {
    name: 'said-before-published',
    rule: 'the head says that events have been published when they have been',
    file: rest,
    edits: [
      {
        find: 'const isPublished = (await outbox?.publish()) ?? true;',
        replace:
          'if (outbox !== undefined) await deps.store.headMarkers.setPublished(run.head.runId, run.state.seq); const isPublished = (await outbox?.publish()) ?? true;',
      },
    ],
    caughtBy: rules('publishing', 'marker after publishing'),
  },
  {
    name: 'not-said-when-published',
    rule: 'what has been published is said with the next marker',
    file: storePart('head-markers'),
    edits: [{ find: 'headFields.write({ dueSeq: seq, publishedSeq })', replace: 'headFields.write({ dueSeq: seq })' }],
    caughtBy: rules('publishing', 'each once'),
  },
  {
    name: 'rests-though-unpublished',
    rule: 'the head keeps a marker that is due as long as an event is not published',
    file: rest,
    edits: [{ find: 'dueAtMs: isPublished ? dueAtMs : dueSince(run.head, deps.clock.nowMs()),', replace: 'dueAtMs,' }],
    caughtBy: rules('publishing', 'due as long as'),
  },
  {
    name: 'marker-that-stays-of-older-commit',
    rule: 'a marker that stays since an event is not published is that of the log as it is now',
    file: rest,
    edits: [{ find: 'isNew || isOlder || task !== undefined ||', replace: 'isNew || task !== undefined ||' }],
    caughtBy: rules('publishing', 'not for an older owner'),
  },
  {
    name: 'ended-without-marker',
    rule: 'the head of an ended run gets a marker when the bus fails, if it has none',
    file: endRun,
    edits: [
      {
        find: 'if (!isPublished && (head.dueAtMs ?? Infinity) > nowMs) await deps.store.headMarkers.markEnded(runId, nowMs);',
        replace: '',
      },
    ],
    caughtBy: rules('publishing', 'end: what the bus does not take brings an ended run back'),
  },
  {
    name: 'ended-marker-cleared-unpublished',
    rule: 'the marker of an ended run stays until its events are published',
    file: endRun,
    edits: [{ find: 'areReleased && isPublished', replace: 'areReleased' }],
    caughtBy: rules('publishing', 'end: what the bus does not take keeps the marker'),
  },
  {
    name: 'end-effects-before-publishing',
    rule: 'events of an end are published before the markers of its run go',
    file: endRun,
    edits: [
      { find: 'const isPublished = (await outbox?.publish()) ?? true;', replace: 'let isPublished = true;' },
      {
        find: 'const areReleased = await releaseTokens(deps, marked, limits);',
        replace: `const areReleased = await releaseTokens(deps, marked, limits);
          isPublished = (await outbox?.publish()) ?? true;`,
      },
    ],
    caughtBy: rules('publishing', 'end: a process that dies ahead of publishing'),
  },
  {
    name: 'end-not-said',
    rule: 'what is published of an end is said, so that a later wake does not repeat it',
    file: endRun,
    edits: [
      {
        find: 'else if (outbox?.publishedSeq !== undefined) await deps.store.headMarkers.setPublished(runId, outbox.publishedSeq);',
        replace: '',
      },
    ],
    caughtBy: rules('publishing', 'end: what was told is not told again'),
  },
  {
    name: 'start-tells-nobody',
    rule: 'a run that is started where there is a bus says so from its start',
    file: 'lib/operations/requests/new-head.ts',
    edits: [{ find: '...defined({ publishedSeq: deps.bus === undefined ? undefined : 0 }),', replace: '' }],
    caughtBy: rules('publishing', 'each once'),
  },
  {
    name: 'next-run-tells-nobody',
    rule: 'so does a run that another one goes on as',
    file: nextRun,
    edits: [{ find: '...defined({ publishedSeq: deps.bus === undefined ? undefined : 0 }),', replace: '' }],
    caughtBy: simulation('bus with children and a next run', 1),
  },
  {
    name: 'block-told-at-each-look',
    rule: 'a block is published once',
    file: 'lib/operations/turn/block-run.ts',
    edits: [{ find: 'if (head.blocked === undefined) return', replace: 'return' }],
    caughtBy: rules('publishing', 'blocked: it is told once'),
  },
  {
    name: 'block-not-repeated',
    rule: 'a block that the bus did not take is published by a later look',
    file: 'lib/operations/turn/block-run.ts',
    edits: [{ find: '...defined({ unpublished: isBlockPublished ? undefined : number })', replace: '' }],
    caughtBy: rules('publishing', 'blocked: what the bus does not take'),
  },
  {
    name: 'block-named-by-number-alone',
    rule: 'two blocks have two ids, also when the head was never told of the first',
    file: 'lib/history/lifecycle-event.ts',
    edits: [{ find: '`${seq}:blocked:${number}`', replace: '`blocked:${number}`' }],
    caughtBy: rules('publishing', 'blocked: one that is not said any more'),
  },
  {
    name: 'remembered-events-repeated',
    rule: 'a process that remembers a run publishes no more of what it left than the head says is left',
    file: 'lib/operations/turn/resume-run.ts',
    edits: [
      {
        find: 'warm.unpublished?.filter(({ seq }) => seq > publishedSeq)',
        replace: 'warm.unpublished',
      },
    ],
    caughtBy: rules('remembering', 'unpublished'),
  },

  // ----- partitions of the due index -----
  {
    name: 'sweeps-own-shards-only',
    rule: 'a sweep reads as many partitions as the table remembers',
    file: 'lib/operations/sweep/fan-out-due.ts',
    edits: [
      {
        find: 'deps.store.lists.readDueShards().then((until) => sweepShards(deps, { from: own, until, atBoot }, nowMs)),',
        replace: '',
      },
    ],
    caughtBy: rules('due-shards', 'sweeps what is remembered: markers of before a rollback'),
  },
  {
    name: 'shards-remembered-late',
    rule: 'the number of partitions is remembered before the first marker that needs it',
    file: 'lib/store/sharded-table.ts',
    edits: [
      {
        find: 'await this.#announce([placed]); return this.#table.write(placed);',
        replace: 'const result = await this.#table.write(placed); await this.#announce([placed]); return result;',
      },
    ],
    caughtBy: rules('due-shards', 'remembered before it is used'),
  },
  {
    name: 'fewer-shards-remembered',
    rule: 'the number that is remembered never becomes smaller',
    file: 'lib/store/sharded-table.ts',
    edits: [
      { find: '(await this.#readRemembered()) < this.dueShards', replace: 'this.dueShards > 0' },
      { find: 'conditions: [fewerShardsThan(this.dueShards)],', replace: 'conditions: [],' },
    ],
    caughtBy: rules('due-shards', 'never remembers less'),
  },
];
