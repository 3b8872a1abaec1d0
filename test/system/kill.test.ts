import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startA2aAgent } from '../../examples/servers/a2a-agent.js';
import { startMcpServer } from '../../examples/servers/mcp-server.js';
import type { RemoteServer, RemoteServerOptions, RemoteStats } from '../../examples/servers/remote-server.js';
import type { RunRecords } from '../../lib/history/records.js';
import { RunStore } from '../../lib/store/run-store.js';
import { openDynamoDbTable } from '../support/dynamodb-tables.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../support/dynoxide.js';
import { heldWork } from '../support/remotes/held-work.js';
import type { EngineProcessOptions } from './engine-process.js';
import { bundleProgram, type Program, type RunningProgram, startProgram } from './processes.js';
import { replayHistory } from './replay-history.js';
import { reportRunId, reportWorkflow, stepRuns } from './report-workflow.js';

interface Remote {
  readonly protocol: 'mcp' | 'a2a';
  readonly dedupes: boolean;
  readonly start: (options: RemoteServerOptions) => Promise<RemoteServer>;
  readonly result: unknown;
}

const dedupingMcp: Remote = {
  protocol: 'mcp',
  dedupes: true,
  start: startMcpServer,
  result: { before: 'prepared', remote: { month: '2026-10', rows: 410, file: 'bookings-2026-10.csv' } },
};
const plainMcp: Remote = {
  ...dedupingMcp,
  dedupes: false,
  start: (options) => startMcpServer({ ...options, dedupe: false }),
};
const a2aAgent: Remote = {
  protocol: 'a2a',
  dedupes: false,
  start: startA2aAgent,
  result: { before: 'prepared', remote: { article: 'gear', quantity: 3, totalCents: 750, currency: 'EUR' } },
};

/**
 * Moment of a death: before or after an operation of the process, or when the server has carried out a request and not
 * answered it.
 */
type Moment = 'before' | 'after' | 'in flight';
interface Kill {
  readonly moment: Moment;
  /** A write, a call, or the method of a request in flight. Missing: any operation. */
  readonly operation?: string;
  /** Number of the occurrence of that operation, counted from 1. */
  readonly occurrence: number;
}

/** A run, taken to its end by as many processes as it needed. */
interface Story {
  /** The last operation of each process that died, in order. */
  readonly killedAt: readonly string[];
  /** Operations of the last process, which was not killed. */
  readonly operations: readonly string[];
  /** Methods of the requests that the server received from the last process. */
  readonly requests: readonly string[];
  readonly records: RunRecords;
  readonly stats: RemoteStats;
}

const reads = ['tasks/get', 'GetTask'];
/** Concurrent stories. Two keep two cores busy; a third fills the waits. */
const limit = pLimit(3);
const testMs = 300_000;

describeWithDynoxide('an engine killed at any instant', () => {
  let dynoxide: Dynoxide;
  let program: Program;
  let tables = 0;
  beforeAll(async () => {
    dynoxide = await startDynoxide();
    program = await bundleProgram('engine-process');
  });
  afterAll(async () => {
    await program.remove();
    await dynoxide.stop();
  });

  /** Runs processes one after another over one table and one server, each with its kill, and a last one without. */
  async function tell(remote: Remote, kills: readonly Kill[]): Promise<Story> {
    const tableName = `kill-${++tables}`;
    const { table, client } = await openDynamoDbTable(dynoxide.endpoint, tableName);
    const held = heldWork();
    let running: RunningProgram | undefined;
    let inFlight: Kill | undefined;
    const requests: string[] = [];
    const server = await remote.start({
      work: held.work,
      beforeReply: (method) => {
        requests.push(method);
        // The first read still finds the task working.
        if (reads.includes(method)) held.finish();
        if (method !== inFlight?.operation || occurrences(requests, method) !== inFlight.occurrence) return 'ok';
        running?.child.kill('SIGKILL');
        return 'drop';
      },
    });
    try {
      const options: EngineProcessOptions = {
        endpoint: dynoxide.endpoint,
        tableName,
        remote: { protocol: remote.protocol, url: server.url, dedupes: remote.dedupes },
        fastSinceMs: Date.now(),
      };
      const killedAt: string[] = [];
      let printed = '';
      for (const kill of [...kills, undefined]) {
        requests.length = 0;
        inFlight = kill?.moment === 'in flight' ? kill : undefined;
        running = startProgram(program, { ...options, ...killByItself(kill) });
        const { code, signal, stdout, stderr } = await running.ended;
        printed = stdout;
        if (signal === 'SIGKILL') killedAt.push(`${kill?.moment} ${inFlight?.operation ?? stdout}`);
        else if (code !== 0) throw new Error(`the engine ended with ${code}: ${stderr}`);
      }
      const operations = JSON.parse(printed) as string[];
      const records = (await new RunStore(table).runs.read(reportRunId))!;
      return { killedAt, operations, requests: [...requests], records, stats: server.stats() };
    } finally {
      client.destroy();
      await server.close();
    }
  }

  /** Runs the story without a kill; then one for each operation and request in it, and each of the moments. */
  async function tellAll(remote: Remote, moments: readonly Moment[]): Promise<readonly Story[]> {
    const undisturbed = await tell(remote, []);
    const kills = moments.flatMap((moment) =>
      inTurn(moment === 'in flight' ? undisturbed.requests : undisturbed.operations).map(
        ([operation, occurrence]): Kill => ({ moment, operation, occurrence }),
      ),
    );
    return [undisturbed, ...(await Promise.all(kills.map((kill) => limit(() => tell(remote, [kill])))))];
  }

  it(
    'towards a server that dedupes: S0-14, S0-15, S0-120: one task, one key, the right result',
    async () => {
      const stories = await tellAll(dedupingMcp, ['before', 'after', 'in flight']);
      const points = operationsOfEveryRun.flatMap((operation) => [`before ${operation}`, `after ${operation}`]);
      expect(pointsOf(stories)).toEqual(
        expect.arrayContaining([...points, 'in flight tools/call', 'in flight tasks/get']),
      );
      for (const story of stories) {
        await expectCompleted(story, dedupingMcp);
        expect(story.stats.tasks, String(story.killedAt)).toBe(1);
        expectOneKey(story);
      }
      // The start is repeated only if it had been sent and its handle was not yet stored.
      const repeated = stories.filter(({ stats }) => stats.startCalls.length > 1);
      expect(pointsOf(repeated)).toEqual(['before update t#2 handle', 'after start', 'in flight tools/call']);
      expect(repeated.map(({ stats }) => stats.startCalls.length)).toEqual([2, 2, 2]);
    },
    testMs,
  );

  // A process that is killed after an operation leaves the same as one that is killed before the next, so one of the
  // two is enough.
  it.each<[string, Remote, readonly Moment[], readonly string[]]>([
    [
      'an MCP server',
      plainMcp,
      ['before', 'after', 'in flight'],
      ['before start', 'before update t#2 handle', 'after put t#2', 'after start', 'in flight tools/call'],
    ],
    ['an A2A agent', a2aAgent, ['after', 'in flight'], ['after put t#2', 'after start', 'in flight SendMessage']],
  ])(
    'towards %s that does not dedupe: S0-15, S0-120: one start, and a start of unknown fate is reported',
    async (_name, remote, moments, ambiguousPoints) => {
      const stories = await tellAll(remote, moments);
      const points = operationsOfEveryRun.map((operation) => `after ${operation}`);
      expect(pointsOf(stories)).toEqual(expect.arrayContaining(points));
      const ambiguous: Story[] = [];
      for (const story of stories) {
        expect(story.stats.startCalls.length, String(story.killedAt)).toBeLessThanOrEqual(1);
        expect(story.stats.tasks, String(story.killedAt)).toBeLessThanOrEqual(1);
        if (story.records.head.status === 'completed') await expectCompleted(story, remote);
        else ambiguous.push(story);
      }
      for (const story of ambiguous) await expectAmbiguous(story);
      // Ambiguous from the claim of the attempt until its handle is stored, and at no other time.
      expect(pointsOf(ambiguous)).toEqual(ambiguousPoints);
    },
    testMs,
  );

  it.each([
    ['that dedupes', dedupingMcp],
    ['that does not', plainMcp],
  ])(
    'twice, towards a server %s: S0-120: the same holds',
    async (_name, remote) => {
      const pairs = operationsOfEveryRun.slice(2).flatMap((operation) =>
        [1, 3].map((second): readonly Kill[] => [
          { moment: 'before', operation, occurrence: 1 },
          { moment: 'after', occurrence: second },
        ]),
      );
      const stories = await Promise.all(pairs.map((kills) => limit(() => tell(remote, kills))));
      expect(stories.filter(({ killedAt }) => killedAt.length === 2).length).toBeGreaterThan(pairs.length / 2);
      for (const story of stories) {
        expect(story.stats.tasks, String(story.killedAt)).toBeLessThanOrEqual(1);
        expectOneKey(story);
        if (!remote.dedupes) expect(story.stats.startCalls.length, String(story.killedAt)).toBeLessThanOrEqual(1);
        if (remote.dedupes || story.records.head.status === 'completed') await expectCompleted(story, remote);
        else await expectAmbiguous(story);
      }
    },
    testMs,
  );
});

/** Operations that every run with a remote task needs, whatever else it writes, and however often. */
const operationsOfEveryRun = [
  'put a',
  'put h#0000000001',
  'put t#2',
  'start',
  'update t#2 handle',
  'get',
  'update t#2 settledAtMs',
];

function occurrences(list: readonly string[], wanted: string): number {
  return list.filter((one) => one === wanted).length;
}

/** Pairs each text with its number among equal ones. */
function inTurn(list: readonly string[]): readonly (readonly [string, number])[] {
  return list.map((one, at) => [one, occurrences(list.slice(0, at + 1), one)]);
}

function killByItself(kill: Kill | undefined): Pick<EngineProcessOptions, 'kill'> {
  if (kill === undefined || kill.moment === 'in flight') return {};
  return { kill: { ...kill, moment: kill.moment } };
}

function pointsOf(stories: readonly Story[]): readonly string[] {
  return [...new Set(stories.flatMap(({ killedAt }) => killedAt))];
}

function expectOneKey({ stats, killedAt }: Story): void {
  const keys = new Set(stats.startCalls.map(({ key }) => key));
  expect(keys.size, String(killedAt)).toBeLessThanOrEqual(1);
  expect(keys.has(undefined), String(killedAt)).toBe(false);
}

async function expectCompleted(story: Story, { result }: Remote): Promise<void> {
  expect(story.stats.startCalls.length).toBeGreaterThanOrEqual(1);
  await expectHistory(story, { status: 'completed', result }, [
    'RunStarted',
    'StepRequested',
    'StepCompleted',
    'RemoteTaskRequested',
    'RemoteTaskStarted',
    'TokenSettled',
    'StepRequested',
    'StepCompleted',
    'RunEnding',
    'RunEnded',
  ]);
}

async function expectAmbiguous(story: Story): Promise<void> {
  const outcome = { status: 'failed', error: { code: 'REMOTE_START_AMBIGUOUS' } };
  await expectHistory(story, outcome, [
    'RunStarted',
    'StepRequested',
    'StepCompleted',
    'RemoteTaskRequested',
    'TokenSettled',
    'RunEnding',
    'RunEnded',
  ]);
}

/**
 * Checks that a run has one history, however often its processes died, and that it replays to its outcome without
 * running a step.
 */
async function expectHistory({ records, killedAt }: Story, outcome: object, types: readonly string[]): Promise<void> {
  const events = records.commits.flatMap((commit) => commit.events);
  expect(
    events.map(({ type }) => type),
    String(killedAt),
  ).toEqual(types);
  expect(events.find(({ type }) => type === 'RunEnding')).toMatchObject({ outcome });
  expect(await replayHistory(records, reportWorkflow)).toMatchObject({ kind: 'ended', outcome });
  expect(stepRuns.count).toBe(0);
}
