import { once } from 'node:events';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startMcpServer } from '../../examples/servers/mcp-server.js';
import type { RemoteServer } from '../../examples/servers/remote-server.js';
import { turnTimeoutMs } from '../../lib/base/limits.js';
import { createRoutes } from '../../lib/http/routes.js';
import type { Deps } from '../../lib/operations/deps.js';
import { pollTask } from '../../lib/operations/remote-task/poll-task.js';
import { requestStop } from '../../lib/operations/requests/stop-run.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import { GuardedHttpClient } from '../../lib/remote/http/http.js';
import type { Settlement } from '../../lib/history/records.js';
import type { Table } from '../../lib/store/table.js';
import { type App, defineApp, mcpServer } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { openDynamoDbTable, type OpenedTable } from '../support/dynamodb-tables.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../support/dynoxide.js';
import { injectFaults } from '../support/faulty-dynamodb.js';
import { heldWork, type HeldWork } from '../support/remotes/held-work.js';
import { createEngineDeps, tokens } from './engine-deps.js';
import { bundleProgram, startProgram } from './processes.js';
import { replayHistory } from './replay-history.js';
import type { SettleProcessOptions } from './settle-process.js';

const tableName = 'settlements';
const startMs = Date.UTC(2026, 10, 29, 10, 0, 0);
const minuteMs = 60_000;
const deadlineMs = startMs + 60 * minuteMs;
const waitId = '1';

const remoteCall = { server: 'reports', tool: 'start_export', arguments: { month: '2026-10' }, timeout: { hours: 1 } };
/** Ends as its remote task ends. */
const follows = defineWorkflow({ name: 'follows', run: async (ctx) => (await ctx.callRemoteTask(remoteCall)).result });
/** Ends after ten seconds, and leaves its wait open. */
const races = defineWorkflow({
  name: 'races',
  run: async (ctx) => {
    await Promise.race([ctx.callRemoteTask(remoteCall), ctx.sleep({ seconds: 10 })]);
    return 'too late';
  },
});

const results = {
  relay: (by: string) => ({ by }),
  poll: {
    resultType: 'complete',
    content: [{ type: 'text', text: '410 rows' }],
    structuredContent: { month: '2026-10', rows: 410, file: 'bookings-2026-10.csv' },
    isError: false,
  },
};

type SettlerKind = 'complete' | 'fail' | 'timeout' | 'poll';

/** A caller that settles, with its own table client and clock. */
interface Settler {
  readonly kind: SettlerKind;
  readonly name: string;
  readonly lostAck: boolean;
}

/** Answer to a settler: true, a reason, or `stale` if there is no caller that could receive a reason. */
type Answer = true | 'already_settled' | 'timed_out' | 'run_ended' | 'stale';

describeWithDynoxide('a token on the DynamoDB store', () => {
  let dynoxide: Dynoxide;
  let main: OpenedTable;
  let held: HeldWork;
  let server: RemoteServer;
  let app: App;
  const http = new GuardedHttpClient({ allowLoopback: true });
  const opened: OpenedTable[] = [];

  beforeAll(async () => {
    dynoxide = await startDynoxide();
    main = await openDynamoDbTable(dynoxide.endpoint, tableName);
    held = heldWork();
    server = await startMcpServer({ work: held.work });
    app = defineApp({ workflows: [follows, races], servers: { reports: mcpServer({ url: server.url }) } });
  });
  afterEach(() => {
    for (const { client } of opened.splice(0)) client.destroy();
  });
  afterAll(async () => {
    main.client.destroy();
    await http.close();
    await server.close();
    await dynoxide.stop();
  });

  const depsAt = (nowMs: number, table: Table = main.table) =>
    createEngineDeps({ app, table, clock: { nowMs: () => nowMs }, http });
  const turnAt = (nowMs: number, runId: string) =>
    runTurn(depsAt(nowMs), { runId }, { remainingMs: () => turnTimeoutMs });

  /** Starts a run that waits for its remote task. */
  async function aWaitingRun(workflow: 'follows' | 'races' = 'follows'): Promise<string> {
    const { runId } = await startRun(depsAt(startMs), { workflow });
    await turnAt(startMs, runId);
    expect((await main.table.get({ pk: `run#${runId}`, sk: `t#${waitId}` }))?.['handle']).toBeDefined();
    return runId;
  }

  async function openTable({ lostAck }: { readonly lostAck: boolean }): Promise<Table> {
    const one = await openDynamoDbTable(dynoxide.endpoint, tableName);
    opened.push(one);
    if (lostAck) {
      injectFaults(one.client, ({ operation, attempt, body }) =>
        operation === 'UpdateItem' && attempt === 1 && body.includes('settledBy') ? 'lostAck' : undefined,
      );
    }
    return one.table;
  }

  async function settleAs({ kind, name }: Settler, runId: string, table: Table): Promise<Answer> {
    const token = tokens.settleToken({ runId, waitId });
    const soon = depsAt(startMs + minuteMs, table);
    switch (kind) {
      case 'complete':
        return told(
          await settleToken(soon, {
            token,
            outcome: { kind: 'completed', result: results.relay(name), isError: false },
          }),
        );
      case 'fail':
        return told(await settleToken(soon, { token, outcome: { kind: 'failed', message: name } }));
      case 'poll':
        return told(await pollTask(soon, { kind: 'poll', runId, waitId }));
      case 'timeout':
        return told(await pollTask(depsAt(deadlineMs, table), { kind: 'poll', runId, waitId, dueAtMs: deadlineMs }));
    }
  }

  /**
   * Holds all `settlers` before their write, and then lets them go: `first` alone and the others after its answer, or
   * all at once. Returns the answers in the order of the settlers.
   */
  async function race(settlers: readonly Settler[], runId: string, first?: Settler): Promise<readonly Answer[]> {
    const gate = new Gate();
    const tables = await Promise.all([false, false, false, true, true].map((lostAck) => openTable({ lostAck })));
    const tableOf = (settler: Settler, at: number): Table =>
      gate.before(tables[settler.lostAck ? 3 + (at % 2) : at % 3]!, settler.name);
    const answers: Promise<Answer>[] = [];
    for (const [at, settler] of settlers.entries()) {
      answers.push(settleAs(settler, runId, tableOf(settler, at)));
      // They arrive one at a time, or a claim would be refused and its owner never reach the gate.
      await gate.arrived(settler.name);
    }
    if (first !== undefined) {
      gate.open(first.name);
      await answers[settlers.indexOf(first)];
    }
    gate.openAll();
    return Promise.all(answers);
  }

  async function settlementOf(runId: string): Promise<Settlement> {
    const { settlement } = (await depsAt(startMs).store.tokens.read(runId, waitId))!;
    return settlement!;
  }

  /** Checks that the run ends, with the first settlement, and ends the same on every replay. */
  async function expectOneEnd(runId: string, outcome: object): Promise<void> {
    const settlement = await settlementOf(runId);
    await turnAt(deadlineMs + minuteMs, runId);
    for (let replay = 1; replay <= 3; replay++) {
      const records = (await depsAt(deadlineMs).store.runs.read(runId))!;
      const events = records.commits.flatMap((commit) => commit.events);
      expect(events.filter(({ type }) => type === 'TokenSettled')).toHaveLength(1);
      expect(events.find(({ type }) => type === 'RunEnding')).toMatchObject({ outcome });
      expect(await replayHistory(records, follows)).toMatchObject({ kind: 'ended', outcome });
      expect(records.tokens.map((token) => token.settlement)).toEqual([settlement]);
    }
  }

  describe('settled by 50 at once', () => {
    /** 20 complete, 10 fail, 10 time out, 10 poll; every fifth loses the acknowledgement of its write. */
    const settlers: readonly Settler[] = Array.from({ length: 50 }, (_, at) => {
      const kind = (['complete', 'fail', 'complete', 'timeout', 'poll'] as const)[Math.floor(at / 10)]!;
      return { kind, name: `${kind}-${at}`, lostAck: at % 5 === 0 };
    });
    beforeAll(() => {
      held.finish();
    });

    it.each([1, 2, 3, 4])(
      'S0-90: exactly one is told true, and the run continues with that settlement (%i)',
      async () => {
        const runId = await aWaitingRun();
        const answers = await race(settlers, runId);

        const winners = settlers.filter((_, at) => answers[at] === true);
        expect(winners).toHaveLength(1);
        const [winner] = winners;
        expect(answers.filter((answer) => answer !== true).sort()).toEqual(refusals(settlers, winner!));
        expect(await settlementOf(runId)).toMatchObject(settlementBy(winner!));
        await expectOneEnd(runId, endBy(winner!));
      },
    );

    it.each([
      ['complete', false],
      ['complete', true],
      ['fail', false],
      ['fail', true],
      ['timeout', false],
      ['timeout', true],
      ['poll', false],
      ['poll', true],
    ] as const)('S0-90: the first writer wins: a %s, its acknowledgement lost: %s', async (kind, lostAck) => {
      const runId = await aWaitingRun();
      const first = settlers.find((settler) => settler.kind === kind && settler.lostAck === lostAck)!;
      const answers = await race(settlers, runId, first);

      expect(settlers.filter((_, at) => answers[at] === true)).toEqual([first]);
      expect(answers.filter((answer) => answer !== true).sort()).toEqual(refusals(settlers, first));
      expect(await settlementOf(runId)).toMatchObject(settlementBy(first));
      await expectOneEnd(runId, endBy(first));
    });
  });

  it('R7: of 200 settlements by 8 processes exactly one is told true', async () => {
    const program = await bundleProgram('settle-process');
    try {
      const runId = await aWaitingRun();
      const options: SettleProcessOptions = {
        endpoint: dynoxide.endpoint,
        tableName,
        token: tokens.settleToken({ runId, waitId }),
        times: 25,
        nowMs: startMs,
      };
      const programs = Array.from({ length: 8 }, () => startProgram(program, options));
      await Promise.all(programs.map(({ child }) => once(child.stdout!, 'data')));
      for (const { child } of programs) child.stdin!.end();
      const ends = await Promise.all(programs.map(({ ended }) => ended));

      const answers = ends.flatMap(({ stdout }) => JSON.parse(stdout.replace('ready\n', '')) as unknown[]);
      expect(answers).toHaveLength(200);
      expect(answers.filter((answer) => (answer as { settled: boolean }).settled)).toEqual([{ settled: true }]);
      const refused = answers.filter((answer) => !(answer as { settled: boolean }).settled);
      expect(refused).toEqual(Array.from({ length: 199 }, () => ({ settled: false, reason: 'already_settled' })));
    } finally {
      await program.remove();
    }
  });

  describe('of a run that has ended', () => {
    const relay = async (runId: string, outcome: Parameters<typeof settleToken>[1]['outcome']): Promise<void> => {
      const token = tokens.settleToken({ runId, waitId });
      expect(await settleToken(depsAt(startMs), { token, outcome })).toEqual({ settled: true });
      await turnAt(startMs, runId);
    };
    const poll = async (runId: string, nowMs: number): Promise<void> => {
      expect(await pollTask(depsAt(nowMs), { kind: 'poll', runId, waitId })).toBe('settled');
      await turnAt(nowMs, runId);
    };
    const stop = async (runId: string, kind: 'cancel' | 'terminate'): Promise<void> => {
      expect(await requestStop(depsAt(startMs), { runId, kind })).toEqual({ accepted: true });
      await turnAt(startMs, runId);
    };
    beforeAll(() => {
      held.finish();
    });

    it.each<[string, 'follows' | 'races', string, string, (runId: string) => Promise<void>]>([
      ['terminated', 'follows', 'terminated', 'run_ended', (runId) => stop(runId, 'terminate')],
      ['cancelled', 'follows', 'cancelled', 'run_ended', (runId) => stop(runId, 'cancel')],
      ['completed without its wait', 'races', 'completed', 'run_ended', (runId) => turnAt(startMs + 10_000, runId)],
      ['completed by a poll', 'follows', 'completed', 'already_settled', (runId) => poll(runId, startMs)],
      ['failed by the deadline', 'follows', 'failed', 'timed_out', (runId) => poll(runId, deadlineMs)],
      [
        'completed by a relay',
        'follows',
        'completed',
        'already_settled',
        (runId) => relay(runId, { kind: 'completed', result: 1, isError: false }),
      ],
      [
        'failed by a relay',
        'follows',
        'failed',
        'already_settled',
        (runId) => relay(runId, { kind: 'failed', message: 'no' }),
      ],
    ])('S0-90, S0-92: %s: nothing is settled and nothing written', async (_name, workflow, status, reason, end) => {
      const runId = await aWaitingRun(workflow);
      const seenDueAtMs = (await depsAt(startMs).store.tokens.read(runId, waitId))!.dueAtMs!;
      await end(runId);
      expect((await depsAt(startMs).store.heads.read(runId))!.status).toBe(status);
      const before = await dump();

      const late = [depsAt(startMs + minuteMs), depsAt(deadlineMs), depsAt(deadlineMs + minuteMs)];
      for (const deps of late) await expectRefused(deps, runId, reason, seenDueAtMs);

      expect(await dump()).toEqual(before);
      expect(late.map(({ queues }) => queues.turn.size + queues.work.size)).toEqual([0, 0, 0]);
    });

    /** Checks that every path on which a token can be settled is refused. */
    async function expectRefused(deps: Deps, runId: string, reason: string, seenDueAtMs: number): Promise<void> {
      const refused = { settled: false, reason };
      const token = tokens.settleToken({ runId, waitId });
      const routes = createRoutes(deps);
      const post = async (path: string, body: object): Promise<unknown> => {
        const response = await routes.request(`/activities/external/${token}/${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        return { status: response.status, body: await response.json() };
      };
      expect(await post('complete', { output: { result: 'late' } })).toEqual({ status: 200, body: refused });
      expect(await post('fail', { error: 'late' })).toEqual({ status: 200, body: refused });
      const completed = { kind: 'completed', result: 'late', isError: false } as const;
      expect(await settleToken(deps, { token, outcome: completed })).toEqual(refused);
      expect(await settleToken(deps, { token, outcome: { kind: 'failed', message: 'late' } })).toEqual(refused);
      expect(await pollTask(deps, { kind: 'poll', runId, waitId })).toBe('stale');
      expect(await pollTask(deps, { kind: 'poll', runId, waitId, dueAtMs: seenDueAtMs })).toBe('stale');
    }

    async function dump(): Promise<unknown> {
      const { Items: items = [], LastEvaluatedKey: more } = await main.client.send(
        new ScanCommand({ TableName: tableName, ConsistentRead: true }),
      );
      expect(more).toBeUndefined();
      return items;
    }
  });
});

/** Holds each settler back before the write that settles. */
class Gate {
  readonly #arrivals = new Map<string, Deferred>();
  readonly #openings = new Map<string, Deferred>();

  before(table: Table, name: string): Table {
    this.#arrivals.set(name, deferred());
    this.#openings.set(name, deferred());
    return {
      write: async (write) => {
        if (write.kind === 'update' && write.set?.['settledAtMs'] !== undefined) {
          this.#arrivals.get(name)!.resolve();
          await this.#openings.get(name)!.promise;
        }
        return table.write(write);
      },
      transact: (writes) => table.transact(writes),
      get: (key) => table.get(key),
      queryPartition: (pk, skPrefix, after) => table.queryPartition(pk, skPrefix, after),
      queryIndex: (query) => table.queryIndex(query),
    };
  }

  async arrived(name: string): Promise<void> {
    await this.#arrivals.get(name)!.promise;
  }

  open(name: string): void {
    this.#openings.get(name)!.resolve();
  }

  openAll(): void {
    for (const { resolve } of this.#openings.values()) resolve();
  }
}

interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

function told(result: Awaited<ReturnType<typeof settleToken | typeof pollTask>>): Answer {
  if (typeof result === 'object') return result.settled ? true : result.reason;
  if (result === 'settled') return true;
  if (result === 'stale') return 'stale';
  throw new Error(`a poll ended with ${result}`);
}

/** Returns the answers that all others receive. */
function refusals(settlers: readonly Settler[], winner: Settler): readonly string[] {
  const reason = winner.kind === 'timeout' ? 'timed_out' : 'already_settled';
  const losers = settlers.filter((settler) => settler !== winner);
  return losers.map(({ kind }) => (kind === 'complete' || kind === 'fail' ? reason : 'stale')).sort();
}

function settlementBy({ kind, name }: Settler): object {
  switch (kind) {
    case 'complete':
      return { by: 'relay', outcome: { kind: 'completed', result: results.relay(name), isError: false } };
    case 'fail':
      return { by: 'relay', outcome: { kind: 'failed', error: { message: `remote task failed: ${name}` } } };
    case 'timeout':
      return { by: 'timeout', outcome: { kind: 'timed_out' } };
    case 'poll':
      return { by: 'poll', outcome: { kind: 'completed', result: results.poll, isError: false } };
  }
}

function endBy({ kind, name }: Settler): object {
  switch (kind) {
    case 'complete':
      return { status: 'completed', result: results.relay(name) };
    case 'fail':
      return { status: 'failed', error: { code: 'REMOTE_TASK_FAILED', message: `remote task failed: ${name}` } };
    case 'timeout':
      return { status: 'failed', error: { code: 'REMOTE_TASK_TIMED_OUT' } };
    case 'poll':
      return { status: 'completed', result: results.poll };
  }
}
