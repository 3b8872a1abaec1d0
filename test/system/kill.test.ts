import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startA2aAgent } from '../../examples/servers/a2a-agent.js';
import { startMcpServer } from '../../examples/servers/mcp-server.js';
import type { RemoteServer, RemoteServerOptions, RemoteStats } from '../../examples/servers/remote-server.js';
import type { RunRecords } from '../../lib/store/records.js';
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

const moments = ['before', 'after', 'in flight'] as const;
/**
 * Where a process is killed: before or after its n-th write or call, or when the remote server has carried out its n-th
 * request and not yet answered it.
 */
interface Kill {
  readonly moment: (typeof moments)[number];
  readonly number: number;
}

/** One run, taken to its end by as many processes as it needed. */
interface Story {
  /** What each process that died was about, in order. */
  readonly killedAt: readonly string[];
  readonly records: RunRecords;
  readonly stats: RemoteStats;
}

const reads = ['tasks/get', 'GetTask'];
/** A run has far fewer writes and calls. */
const operationsMax = 60;
/** Runs at a time. */
const limit = pLimit(2);
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
    let lastRequest = '';
    let requestsLeft = Infinity;
    const server = await remote.start({
      work: held.work,
      beforeReply: (method) => {
        // The first read still finds the task working.
        if (reads.includes(method)) held.finish();
        if (--requestsLeft > 0) return 'ok';
        lastRequest = method;
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
      for (const kill of [...kills, undefined]) {
        requestsLeft = kill?.moment === 'in flight' ? kill.number : Infinity;
        running = startProgram(program, { ...options, ...killByItself(kill) });
        const { code, signal, stdout, stderr } = await running.ended;
        if (signal === 'SIGKILL') killedAt.push(`${kill?.moment} ${stdout}${lastRequest}`);
        else if (code !== 0) throw new Error(`the engine ended with ${code}: ${stderr}`);
        lastRequest = '';
      }
      const records = await new RunStore(table).readRun(reportRunId);
      return { killedAt, records: records!, stats: server.stats() };
    } finally {
      client.destroy();
      await server.close();
    }
  }

  /** Tells a story for each point of each moment, until a process passes without reaching the point. */
  async function tellAll(remote: Remote): Promise<readonly Story[]> {
    const stories = await Promise.all(
      moments.map(async (moment) => {
        const ofMoment: Story[] = [];
        for (let number = 1; number <= operationsMax; number++) {
          const story = await limit(() => tell(remote, [{ moment, number }]));
          ofMoment.push(story);
          if (story.killedAt.length === 0) return ofMoment;
        }
        throw new Error(`more than ${operationsMax} operations`);
      }),
    );
    return stories.flat();
  }

  it(
    'towards a server that dedupes: S0-14, S0-15, S0-120: one task, one key, the right result',
    async () => {
      const stories = await tellAll(dedupingMcp);
      expect(pointsOf(stories)).toEqual(expect.arrayContaining(pointsOfEveryRun));
      for (const story of stories) {
        await expectCompleted(story, dedupingMcp);
        expect(story.stats.tasks, String(story.killedAt)).toBe(1);
        expectOneKey(story);
      }
    },
    testMs,
  );

  it.each([
    ['an MCP server', plainMcp, 'tools/call'],
    ['an A2A agent', a2aAgent, 'SendMessage'],
  ])(
    'towards %s that does not dedupe: S0-15, S0-120: one start, and a start of unknown fate is reported',
    async (_name, remote, start) => {
      const stories = await tellAll(remote);
      expect(pointsOf(stories)).toEqual(expect.arrayContaining(pointsOfEveryRun));
      const ambiguous: Story[] = [];
      for (const story of stories) {
        expect(story.stats.startCalls.length, String(story.killedAt)).toBeLessThanOrEqual(1);
        expect(story.stats.tasks, String(story.killedAt)).toBeLessThanOrEqual(1);
        if (story.records.head.status === 'completed') await expectCompleted(story, remote);
        else ambiguous.push(story);
      }
      for (const story of ambiguous) await expectAmbiguous(story);
      // From the claim of the attempt until its handle is stored.
      expect(pointsOf(ambiguous)).toEqual([
        'before start',
        'before update t#2 handle',
        'after put t#2',
        'after start',
        `in flight ${start}`,
      ]);
    },
    testMs,
  );

  it.each([
    ['that dedupes', dedupingMcp],
    ['that does not', plainMcp],
  ])(
    'twice, towards a server %s: S0-120: the same holds',
    async (_name, remote) => {
      const pairs = [3, 5, 7, 9, 12].flatMap((first) => [1, 2, 4].map((second) => [first, second] as const));
      const stories = await Promise.all(
        pairs.map(([first, second]) =>
          limit(() =>
            tell(remote, [
              { moment: 'before', number: first },
              { moment: 'after', number: second },
            ]),
          ),
        ),
      );
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

/** Some of the points that each remote call brings with it; if they are missing, the tests kill nobody who matters. */
const pointsOfEveryRun = [
  'before put a',
  'before put h#0000000001',
  'before put t#2',
  'before start',
  'before update t#2 handle',
  'before get',
  'before update t#2 settledAtMs',
  'after put a',
  'after start',
  'after get',
  'after update t#2 settledAtMs',
];

function killByItself(kill: Kill | undefined): Pick<EngineProcessOptions, 'kill'> {
  if (kill === undefined || kill.moment === 'in flight') return {};
  return { kill: { moment: kill.moment, operation: kill.number } };
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

/** However often its processes died, a run has one history, and it replays to its outcome without running a step. */
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
