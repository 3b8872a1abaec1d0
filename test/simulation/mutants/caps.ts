import { type Mutant, storePart, testsIn } from './mutant.js';

const of =
  (file: string, group: string) =>
  (name: string, rule: string, source: string, [find, replace]: readonly [string, string], test: string): Mutant => ({
    name: `caps-${name}`,
    rule,
    file: source,
    edits: [{ find, replace }],
    caughtBy: testsIn(`test/engine/serve/${file}.test.ts`, `${group} ${test}`),
  });
const capped = of('caps', 'served tasks under caps');
const chained = of('call-chains', 'a chain of calls');
const streamed = of('open-streams', 'streams to callers');
const waited = of('open-streams', 'waits of callers');
const inContext = of('contexts', 'a context whose tasks wait for one another');

const counts = storePart('tenant-counts');
const permits = storePart('caller-permits');
const startTask = 'lib/operations/serve/start-task.ts';
const chain = 'lib/operations/serve/call-chain.ts';
const nextRun = 'lib/operations/turn/next-run.ts';
const perform = 'lib/serve/a2a/perform.ts';

/** Rules of docs/decisions/0038. */
export const capsMutants: readonly Mutant[] = [
  capped(
    'not-limited',
    'a task is put only beside fewer than its caps allow',
    counts,
    [
      'counted(servedCountKey(counter, of), 1, [fewerOfTasksThan(of, max)])',
      'counted(servedCountKey(counter, of), max > 0 ? 1 : 0, [])',
    ],
    'are refused while as many of the caller are under way',
  ),
  capped(
    'start-not-counted',
    'the start of a task is counted with its head',
    storePart('heads'),
    ['...countStart(head, liveMax, caps),', '...countStart(head, liveMax),'],
    'are refused while as many of the caller are under way',
  ),
  capped(
    'queued-start-not-counted',
    '... and so is one with a place in its context',
    storePart('limited-starts'),
    ['const counts = countStart(head, liveMax, caps);', 'const counts = countStart(head, liveMax);'],
    'are as many of a context as it may have',
  ),
  capped(
    'not-named',
    'the head names the counters that count the run',
    startTask,
    ['...defined({ counters: countersOf(caps) }),', ''],
    'are refused while as many of the caller are under way',
  ),
  capped(
    'not-released',
    'the end of a task is counted by what its head names',
    counts,
    ['return [...ofTenant(head), ...ofTasks].map(', 'return [...ofTenant(head), ...ofTasks.slice(1)].map('],
    'are released by what their heads name',
  ),
  capped(
    'not-handed-on',
    'a run that continues as another one hands its counters on',
    nextRun,
    ['      counters: head.counters,\n', ''],
    'count once, whatever their end is',
  ),
  capped(
    'known-is-refused',
    'a start that was accepted is known, whatever refuses its repeat',
    startTask,
    ['if (accepted === undefined) throw error;', 'if (accepted === undefined || key !== "") throw error;'],
    'are one under a key that two starts use at once',
  ),
  capped(
    'conflict-is-refusal',
    'a conflict on a counter is a retry',
    'lib/store/dynamodb/conflicts.ts',
    ["if (result !== 'conflict') return result;", "if (result !== 'conflict' || attempt > 0) return result;"],
    'are all accepted, and all released, when 200 start and end at once under one cap',
  ),
  capped(
    'permits-beyond-the-limit',
    'the messages of a minute are never more than the limit',
    permits,
    ['conditions: [minuteIs(minute), fewerRequestsThan(perMinute - count + 1)],', 'conditions: [minuteIs(minute)],'],
    'take permits that several processes share',
  ),
  capped(
    'permits-one-by-one',
    'permits are leased in blocks',
    permits,
    [
      'Math.max(1, Math.min(lease.used, Math.floor((perMinute - lease.leased) / 2)))',
      'Math.min(1, Math.max(1, lease.used))',
    ],
    'take permits that several processes share',
  ),
  capped(
    'permits-that-do-not-lapse',
    'a permit belongs to its minute',
    permits,
    ['if (known?.minute === minute) return known;', 'if (known !== undefined) return known;'],
    'take one message of the minute each',
  ),
  capped(
    'further-messages-free',
    'a message to a task takes a permit too',
    'lib/operations/serve/tasks.ts',
    ['await admitMessage(deps, serve);\n', ''],
    'take one message of the minute each',
  ),
  capped(
    'repeat-takes-permit',
    'a repeat of an accepted start takes no permit',
    startTask,
    [
      'if (known !== undefined) return { taskId: sameStart(known, sentDigest).runId };\n  try {',
      'await admitMessage(deps, serve);\n  try {',
    ],
    'are known under their key, whatever refuses the repeat',
  ),
  chained(
    'any-depth',
    'a chain of calls has a depth',
    chain,
    ['if (came.length >= depth)', 'if (came.length > depth + 16)'],
    'is refused where it would be deeper',
  ),
  chained(
    'no-own-mark',
    'each task adds its mark to the chain',
    chain,
    ['return [...came, mark];', "return [...came, 'mark'];"],
    'of an agent that calls itself ends at its depth',
  ),
  chained(
    'waits-for-itself',
    'a call that comes back into a context which waits for it is refused',
    chain,
    ['if (lane !== undefined && came.includes(mark) &&', 'if (lane !== undefined && came.length > 16 &&'],
    'that comes back into a context which waits',
  ),
  chained(
    'never-again',
    '... but not once the context waits no more',
    chain,
    ['came.includes(mark) && (await isBusy(deps, lane))', 'came.includes(mark)'],
    'that comes back into a context which waits',
  ),
  chained(
    'lost-by-continuation',
    'a run that continues as another one hands its chain on',
    nextRun,
    ['      calls: head.calls,\n', ''],
    'goes on through the children of a served run',
  ),
  chained(
    'lost-by-child',
    'a child has the chain of its parent',
    'lib/operations/turn/start-child.ts',
    [', calls: parent.calls }', ' }'],
    'goes on through the children of a served run',
  ),
  chained(
    'not-sent',
    'our client sends the chain',
    'lib/operations/remote-task/call-server.ts',
    ['        calls: start.calls,\n', ''],
    'of an agent that calls itself ends at its depth',
  ),
  chained(
    'not-sent-by-turns',
    '... also from a turn',
    'lib/operations/turn/begin.ts',
    [
      'const start = { runId, traceparent, calls, wait,',
      'const start = { runId, traceparent, calls: calls?.slice(9), wait,',
    ],
    'of an agent that calls itself ends at its depth',
  ),
  chained(
    'not-sent-by-workers',
    '... and from a worker',
    'lib/operations/remote-task/make-remote-start.ts',
    ['    calls: head.calls,\n', ''],
    'of an agent that calls itself ends at its depth',
  ),
  streamed(
    'sent-before-place',
    'a message is taken only if its stream has a place',
    perform,
    [
      '  const place = await placeFor(visit);\n  try {',
      '  await visit.tasks.send(request);\n  const place = await placeFor(visit);\n  try {',
    ],
    'beyond that are refused on /a2a of 1.0',
  ),
  streamed(
    'place-kept-by-refused',
    'a message that is refused gives its place back',
    perform,
    ['    await place?.leave();\n', ''],
    'give their place back if the message is refused',
  ),
  streamed(
    'place-kept',
    'a stream that ends gives its place back',
    'lib/serve/sse.ts',
    ['    await place?.leave();\n', ''],
    'are no more than there may be',
  ),
  waited(
    'wait-without-place',
    'a wait takes a place, and ends where there is none',
    'lib/operations/serve/watch-task.ts',
    ['if (!hasPaused && (await mayPause?.()) === false) return;', ''],
    'end at once where there is no place',
  ),
  waited(
    'place-of-a-wait-kept',
    'a wait that ends gives its place back',
    'lib/operations/serve/place-to-wait.ts',
    ['      await place?.leave();\n', ''],
    'take the place of a stream until they end',
  ),
  waited(
    'place-taken-at-once',
    'a wait that ends with its first look costs nothing',
    'lib/operations/serve/watch-task.ts',
    ['let hasPaused = false;\n', 'let hasPaused = false;\n  await mayPause?.();\n'],
    'cost no place if they end with their first look',
  ),
  streamed(
    'place-not-renewed',
    'a stream renews its lease',
    'lib/operations/serve/stream-slots.ts',
    ['if (!(await slots.renew(number, holder, nextMs))) break;', ''],
    'keep their place for as long as they are open',
  ),
  streamed(
    'lost-place-unnoticed',
    'a stream that has lost its place ends',
    'lib/operations/serve/stream-slots.ts',
    ['  stream.end();\n', ''],
    'of a process that has died leave their places',
  ),
  streamed(
    'place-of-another-renewed',
    '... and does not take it back',
    storePart('slots'),
    ['set: { untilMs }, conditions: [holderIs(holder)] })).ok', 'set: { untilMs, holder }, conditions: [] })).ok'],
    'of a process that has died leave their places',
  ),
  streamed(
    'place-leased-twice',
    'a place is leased to one stream at a time',
    storePart('slots'),
    ['conditions: [notTakenAfter(atMs)],', 'conditions: [],'],
    'that open at once in several processes',
  ),
  inContext(
    'behind-a-namesake',
    'a run that is gone has ended, also if its id is that of a later run',
    'lib/operations/lane.ts',
    ['if (afterCreatedAtMs !== undefined && afterCreatedAtMs !== first.createdAtMs) return undefined;', ''],
    'goes on after the deletion of the task under way',
  ),
];
