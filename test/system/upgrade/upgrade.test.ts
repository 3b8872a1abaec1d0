import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { startMcpServer } from '../../../examples/servers/mcp-server.js';
import type { RunView } from '../../../lib/operations/views/show-run.js';
import type { Item, Table } from '../../../lib/store/table.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../../support/dynoxide.js';
import { openDynamoDbTable } from '../../support/dynamodb-tables.js';
import { heldWork } from '../../support/remotes/held-work.js';
import { bundleProgram, type Program } from '../processes.js';
import { type Bundles, makeBundles, unpackBundles } from './bundles.js';
import { Deployment, secretsOfAll } from './deployment.js';

// Runs that the bundles of a release have started end under any later deployment. Each release has its own bundles.

const fixtures = new URL('fixtures/', import.meta.url);
const versions = readdirSync(fixtures).map((file) => file.replace(/\.json\.br$/, ''));
const workflows = ['remote', 'timer', 'signal', 'long'] as const;
type WorkflowName = (typeof workflows)[number];
const kindOf = { remote: 'remoteTask', timer: 'timer', signal: 'signal', long: 'longStep' } as const;

let dynoxide: Dynoxide;
let sqs: FauxqsServer;
let program: Program;
let today: Bundles;
let changed: Bundles;
let worlds = 0;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  [dynoxide, sqs, program, today, changed] = await Promise.all([
    startDynoxide(),
    startFauxqs({ port: 0, logger: false, host: '127.0.0.1' }),
    bundleProgram('upgrade/host-process'),
    makeBundles('kept'),
    makeBundles('changed'),
  ]);
}, 120_000);
afterAll(async () => {
  await Promise.all([dynoxide.stop(), sqs.stop(), program.remove()]);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A table, queues and a remote server, which outlive deployments. */
interface World {
  readonly table: Table;
  readonly deploy: (bundles: Bundles, env?: Readonly<Record<string, string>>) => Promise<Deployment>;
  /** Ends the work of the remote tasks. */
  readonly finishWork: () => void;
  readonly remoteStarts: () => number;
}

async function aWorld(): Promise<World> {
  const name = `upgrade-${++worlds}`;
  const folder = await mkdtemp(join(tmpdir(), 'outwait-upgrade-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const { table, client } = await openDynamoDbTable(dynoxide.endpoint, name);
  closers.push(async () => {
    client.destroy();
  });
  const { work, finish } = heldWork();
  const server = await startMcpServer({ work });
  closers.push(() => server.close());
  const env = { ...(await queuesOf(name)), ...secretsOfAll, OUTWAIT_TABLE: name, UPGRADE_MCP_URL: server.url };
  let deployments = 0;
  return {
    table,
    finishWork: finish,
    remoteStarts: () => server.stats().startCalls.length,
    deploy: async (bundles, more = {}) => {
      const deployment = await Deployment.start({
        program: program.path,
        bundles,
        folder: join(folder, String(++deployments)),
        env: { ...env, ...more },
      });
      closers.push(() => deployment.kill());
      return deployment;
    },
  };
}

async function queuesOf(name: string): Promise<Readonly<Record<string, string>>> {
  const endpoint = `http://127.0.0.1:${sqs.port}`;
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new SQSClient({ endpoint, region: 'us-east-1', credentials });
  const create = async (queue: string, attributes: Record<string, string>): Promise<string> => {
    const QueueName = `${name}-${queue}`;
    const Attributes = { VisibilityTimeout: '600', ...attributes };
    return (await client.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl!;
  };
  const [turn, work, step, start, slow] = await Promise.all([
    // A process may be killed in a turn, and must not keep its run locked for longer than a test waits.
    create('turn.fifo', { FifoQueue: 'true', VisibilityTimeout: '5' }),
    create('work', {}),
    create('step', {}),
    create('start', {}),
    create('slow', {}),
  ]);
  client.destroy();
  return {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: dynoxide.endpoint,
    AWS_ENDPOINT_URL_SQS: endpoint,
    OUTWAIT_TURN_QUEUE_URL: turn,
    OUTWAIT_WORK_QUEUE_URL: work,
    OUTWAIT_STEP_QUEUE_URL: step,
    OUTWAIT_START_QUEUE_URL: start,
    OUTWAIT_SLOW_QUEUE_URL: slow,
  };
}

const patience = { timeout: 30_000, interval: 50 };

async function view(deployment: Deployment, runId: string): Promise<RunView> {
  return (await deployment.request('GET', `/runs/${runId}`)).body as unknown as RunView;
}

/** Starts one run of each workflow, brings each to its wait, and kills the process. */
async function startedBy(world: World, bundles: Bundles): Promise<Readonly<Record<WorkflowName, string>>> {
  const deployment = await world.deploy(bundles, { UPGRADE_HOLD: '1' });
  const runIds = {} as Record<WorkflowName, string>;
  for (const workflow of workflows) {
    const { body } = await deployment.request('POST', '/runs', { workflow, key: 'k' });
    runIds[workflow] = (body as { readonly runId: string }).runId;
  }
  for (const workflow of workflows) {
    await vi.waitFor(async () => {
      const { waits } = await view(deployment, runIds[workflow]);
      expect(waits, deployment.said).toMatchObject([{ kind: kindOf[workflow] }]);
      if (workflow === 'remote') expect(waits[0]?.taskId).toBeDefined();
      if (workflow === 'long') expect(waits[0]?.runningSinceMs).toBeDefined();
    }, patience);
  }
  await deployment.kill();
  return runIds;
}

async function resultOf(deployment: Deployment, runId: string): Promise<unknown> {
  let run: RunView | undefined;
  await vi.waitFor(async () => {
    await deployment.pass(60_000);
    run = await view(deployment, runId);
    expect(run.status, `${JSON.stringify(run)}\n${deployment.said}`).not.toBe('running');
  }, patience);
  return run?.outcome?.status === 'completed' ? run.outcome.result : run?.outcome;
}

async function goOn(world: World, deployment: Deployment, runs: Readonly<Record<WorkflowName, string>>): Promise<void> {
  world.finishWork();
  const accepted = await deployment.request('POST', `/runs/${runs.signal}/signals/go`, { payload: 'now' });
  expect(accepted.body).toMatchObject({ accepted: true });
  // The timer and the lease of the dead worker have run out.
  await deployment.pass(2 * 3_600_000);
}

it('there are kept bundles', () => {
  expect(versions).toContain('0.1.0');
});

describeWithDynoxide('runs of kept bundles', () => {
  for (const version of versions) {
    const kept = async (): Promise<Bundles> => unpackBundles(await readFile(new URL(`${version}.json.br`, fixtures)));

    it(`of ${version} end under the engine of today (EN-14)`, { timeout: 120_000 }, async () => {
      const world = await aWorld();
      const runs = await startedBy(world, await kept());
      const deployment = await world.deploy(today);
      await goOn(world, deployment, runs);
      expect(await resultOf(deployment, runs.remote)).toEqual(['prepare 1', false, 'publish 1']);
      expect(await resultOf(deployment, runs.timer)).toEqual(['prepare 1', 'publish 1']);
      expect(await resultOf(deployment, runs.signal)).toEqual(['prepare 1', 'now', 'publish 1']);
      expect(await resultOf(deployment, runs.long)).toEqual(['prepare 1', 'indexed 1', 'publish 1']);
      expect(world.remoteStarts()).toBe(1);
      const again = await deployment.request('POST', '/runs', { workflow: 'timer', key: 'k' });
      expect(again).toEqual({ status: 200, body: { runId: runs.timer, deduplicated: true } });
    });

    it(
      `of ${version} end under changed workflow code, each on the path that it was on`,
      { timeout: 120_000 },
      async () => {
        const world = await aWorld();
        const runs = await startedBy(world, await kept());
        const deployment = await world.deploy(changed);
        await goOn(world, deployment, runs);
        expect(await resultOf(deployment, runs.remote)).toEqual(['prepare 1', false, 'check 2', 'publish 2']);
        expect(await resultOf(deployment, runs.timer)).toEqual(['prepare 1', 'check 2', 'publish 2']);
        expect(await resultOf(deployment, runs.signal)).toEqual(['prepare 1', 'now', 'check 2', 'publish 2']);
        expect(await resultOf(deployment, runs.long)).toEqual(['prepare 1', 'indexed 2', 'check 2', 'publish 2']);
        expect(world.remoteStarts()).toBe(1);
        const { body } = await deployment.request('POST', '/runs', { workflow: 'long' });
        const { runId } = body as { readonly runId: string };
        expect(await resultOf(deployment, runId)).toEqual([
          'greet 2',
          'prepare 2',
          'indexed 2',
          'check 2',
          'publish 2',
        ]);
      },
    );

    it(
      `of ${version} are left as they are where a newer version has written, and others go on, when it is rolled back`,
      { timeout: 120_000 },
      async () => {
        const world = await aWorld();
        const runs = await startedBy(world, await kept());
        const newer = [
          [`run#${runs.timer}`, 'a'],
          [`run#${runs.remote}`, 't#2'],
        ] as const;
        const marked = await Promise.all(newer.map(([pk, sk]) => markAs(world.table, { pk, sk }, 2)));

        const rolledBack = await world.deploy(await kept());
        await goOn(world, rolledBack, runs);
        expect(await resultOf(rolledBack, runs.signal)).toEqual(['prepare 1', 'now', 'publish 1']);
        expect(await resultOf(rolledBack, runs.long)).toEqual(['prepare 1', 'indexed 1', 'publish 1']);
        await vi.waitFor(async () => {
          await rolledBack.pass(60_000);
          expect(rolledBack.said).toContain('run skipped: it cannot be read');
          expect(rolledBack.said).toContain('wait skipped: it cannot be read');
        }, patience);
        expect(await Promise.all(newer.map(([pk, sk]) => world.table.get({ pk, sk })))).toEqual(marked);
        await rolledBack.kill();

        // The newer version is back, and reads what it has written; here it is the current one, with a format that it
        // knows.
        await Promise.all(newer.map(([pk, sk]) => markAs(world.table, { pk, sk }, 1)));
        const deployment = await world.deploy(today);
        await deployment.pass(4 * 3_600_000);
        expect(await resultOf(deployment, runs.timer)).toEqual(['prepare 1', 'publish 1']);
        expect(await resultOf(deployment, runs.remote)).toEqual(['prepare 1', false, 'publish 1']);
        expect(world.remoteStarts()).toBe(1);
      },
    );
  }
});

/** Sets the format of an item, and returns the item. */
async function markAs(table: Table, key: { readonly pk: string; readonly sk: string }, format: number): Promise<Item> {
  const result = await table.write({ kind: 'update', key, set: { format }, conditions: [{ kind: 'itemExists' }] });
  if (!result.ok) throw new Error(`there is no item ${key.sk}`);
  return result.item;
}
