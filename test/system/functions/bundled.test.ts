import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CreateQueueCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundle } from '../../../lib/bundle/bundle.js';
import { createSqsClient } from '../../../lib/sdk/sqs-client.js';
import { createDynamoDbClient } from '../../../lib/store/dynamodb/create-client.js';
import { ensureTable } from '../../../lib/store/dynamodb/schema.js';
import { closeAll, result, serve } from '../../unit/remote/loopback.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../../support/dynoxide.js';
import { type FakeEventBridge, startFakeEventBridge } from '../../support/fake-eventbridge.js';

/**
 * Requests from the bundled functions, in one process, what a deployment would request while one run goes to its end.
 */
const script = `
const [files, token] = process.argv.slice(2);
const load = async (name) => (await import(JSON.parse(files)[name])).handler;
const context = { getRemainingTimeInMillis: () => 60_000 };
const long = { getRemainingTimeInMillis: () => 900_000 };
const http = async (method, path, body) => {
  const event = { rawPath: path, rawQueryString: '', headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' }, requestContext: { http: { method } }, body };
  const { statusCode, body: answer } = await (await load('api'))(event, context);
  return { statusCode, ...JSON.parse(answer) };
};
const ask = async (name, message) =>
  (await load(name))({ Records: [{ messageId: 'm', body: JSON.stringify(message), attributes: {} }] }, name === 'step' ? long : context);
const { runId } = await http('POST', '/runs', JSON.stringify({ workflow: 'report', input: { month: '2026-11' } }));
if (runId === undefined) throw new Error('not started');
const received = async () => {
  const headers = { 'x-amz-target': 'AmazonSQS.ReceiveMessage', 'content-type': 'application/x-amz-json-1.0' };
  const body = JSON.stringify({ QueueUrl: process.env.OUTWAIT_START_QUEUE_URL, WaitTimeSeconds: 1 });
  const answer = await fetch(process.env.AWS_ENDPOINT_URL_SQS, { method: 'POST', headers, body });
  return JSON.parse((await answer.json()).Messages[0].Body);
};
const failed = [(await ask('turn', { runId })).batchItemFailures.length];
for (const [name, message] of [
  ['step', await received()],
  ['poll', { kind: 'poll', runId, waitId: '1', server: 'supplier' }],
  ['turn', { runId }],
  ['step', { runId, waitId: '9', dueAtMs: 1 }],
  ['poll', { kind: 'nothing known' }],
]) failed.push((await ask(name, message)).batchItemFailures.length);
await (await load('schedule'))({ time: '2026-11-29T10:00:00Z' }, context);
const run = await http('GET', '/runs/' + runId + '/result');
const query = await http('POST', '/runs/' + runId + '/queries/none', '{}');
process.stdout.write('\\n' + JSON.stringify({ failed, run, query: query.error.code }));
process.exit(0);
`;

/** Does what an event of EventBridge requests, and then ends by itself. */
const sweepScript = `
const { handler } = await import(JSON.parse(process.argv[2]).schedule);
await handler({ time: '2026-11-29T10:00:00Z' });
process.exit(0);
`;

const token = 'a'.repeat(64);

describeWithDynoxide('the bundled functions', () => {
  let folder: string;
  let database: Dynoxide;
  let sqs: Awaited<ReturnType<typeof startFauxqs>>;
  let queues: SQSClient;
  let bus: FakeEventBridge;
  let turnQueueUrl: string;
  let startQueueUrl: string;
  let files: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outwait-bundled-'));
    database = await startDynoxide();
    await ensureTable(createDynamoDbClient({ endpoint: database.endpoint }), 'outwait');
    sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
    queues = createSqsClient({ endpoint: `http://127.0.0.1:${sqs.port}` });
    bus = await startFakeEventBridge();
    const fifo = new CreateQueueCommand({ QueueName: 'turn.fifo', Attributes: { FifoQueue: 'true' } });
    turnQueueUrl = (await queues.send(fifo)).QueueUrl!;
    startQueueUrl = (await queues.send(new CreateQueueCommand({ QueueName: 'start' }))).QueueUrl!;
    const agent = await serve((request, response) => {
      const isStart = request.body.method === 'SendMessage';
      const state = isStart ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED';
      const task = { id: 't1', contextId: 'c1', status: { state } };
      result(response, request, isStart ? { task } : task);
    });
    files = JSON.stringify(await bundleFunctions(configWith(agent.url), folder));
  });

  afterAll(async () => {
    await closeAll();
    await bus.close();
    await sqs.stop();
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a program that calls the functions, and returns what it writes, line by line. */
  async function run(program: string, credentials: Record<string, string>): Promise<readonly unknown[]> {
    const file = join(folder, 'program.mjs');
    await writeFile(file, program);
    const sqsEndpoint = `http://127.0.0.1:${sqs.port}`;
    const { stdout } = await promisify(execFile)(process.execPath, [file, files, token], {
      env: {
        ...credentials,
        AWS_ENDPOINT_URL_DYNAMODB: database.endpoint,
        AWS_ENDPOINT_URL_SQS: sqsEndpoint,
        AWS_ENDPOINT_URL_EVENTBRIDGE: bus.endpoint,
        OUTWAIT_EVENT_BUS: 'reports',
        AWS_REGION: 'us-east-1',
        OUTWAIT_TABLE: 'outwait',
        OUTWAIT_TURN_QUEUE_URL: turnQueueUrl,
        OUTWAIT_WORK_QUEUE_URL: `${sqsEndpoint}/nobody/work`,
        OUTWAIT_STEP_QUEUE_URL: `${sqsEndpoint}/nobody/step`,
        OUTWAIT_START_QUEUE_URL: startQueueUrl,
        OUTWAIT_SLOW_QUEUE_URL: `${sqsEndpoint}/nobody/slow`,
        OUTWAIT_TOKEN_KEYS: `k1:${token}`,
        OUTWAIT_MANAGEMENT_TOKEN: token,
      },
    });
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  }

  it('take a run from its start over a remote task to its end, with all that they load late', async () => {
    const lines = await run(script, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
    expect(lines.at(-1)).toEqual({
      failed: [0, 0, 0, 0, 0, 1],
      run: expect.objectContaining({
        statusCode: 200,
        outcome: { status: 'completed', result: { isError: false, month: '2026-11' } },
      }) as unknown,
      query: 'QUERY_NOT_FOUND',
    });
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        time: expect.stringMatching(/Z$/) as unknown,
        event: 'malformed work message',
        messageId: 'm',
      }),
    );
    expect(bus.requests.flat().map(({ DetailType, EventBusName }) => `${DetailType} ${EventBusName}`)).toEqual([
      'RunStarted reports',
      'RemoteTaskStarted reports',
      'RemoteTaskSettled reports',
      'RunCompleted reports',
    ]);
    const sent = await queues.send(new ReceiveMessageCommand({ QueueUrl: turnQueueUrl, WaitTimeSeconds: 1 }));
    expect(JSON.parse(sent.Messages?.[0]?.Body ?? '')).toEqual({
      runId: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
    });
  });

  it('find their credentials also where Lambda would not have them', async () => {
    const answer = JSON.stringify({ Version: 1, AccessKeyId: 'local', SecretAccessKey: 'local' });
    await writeFile(join(folder, 'aws-credentials.json'), answer);
    const config = join(folder, 'aws-config');
    await writeFile(config, `[default]\ncredential_process = cat ${join(folder, 'aws-credentials.json')}\n`);
    const lines = await run(sweepScript, { AWS_CONFIG_FILE: config, PATH: process.env['PATH'] ?? '' });
    expect(lines).toContainEqual(expect.objectContaining({ SweepLagMs: expect.any(Number) as unknown }));
  });
});

function configWith(agentUrl: string): string {
  return `
    import { a2aAgent, defineApp, defineWorkflow } from 'outwait';
    const report = defineWorkflow({
      name: 'report',
      run: async (ctx, input) => {
        const outcome = await ctx.callRemoteTask({ server: 'supplier', skill: 'export', arguments: input });
        return { isError: outcome.isError, month: input.month };
      },
    });
    const schedules = [{ name: 'leap-day', workflow: report, cron: '0 2 29 2 *' }];
    const supplier = a2aAgent({ url: '${agentUrl}', allowPrivateAddresses: true });
    export default defineApp({ workflows: [report], servers: { supplier }, schedules });`;
}

/** Bundles each function separately, as they are deployed; returns the URLs of the files by their names. */
async function bundleFunctions(config: string, folder: string): Promise<Record<string, string>> {
  const configFile = join(folder, 'outwait.config.ts');
  await writeFile(configFile, config);
  const bundled = ['api', 'turn', 'poll', 'step', 'schedule'].map(async (name) => {
    const entries = { [name]: fileURLToPath(new URL(`../../../functions/${name}.ts`, import.meta.url)) };
    const { [name]: file = '' } = await bundle({ configFile, outDir: join(folder, name), entries });
    return [name, pathToFileURL(file).href] as const;
  });
  return Object.fromEntries(await Promise.all(bundled));
}
