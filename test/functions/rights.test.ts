import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { APIGatewayProxyEventV2, SQSEvent } from 'aws-lambda';
import { startFauxqs } from 'fauxqs';
import { a2aAgent, defineApp, defineWorkflow } from 'outwait';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiHandler } from '../../lib/aws/api-handler.js';
import { createDeps } from '../../lib/aws/deps.js';
import { readEnv, readManagementAccess } from '../../lib/aws/env.js';
import { type GetDeps, once, withTokens } from '../../lib/aws/get-deps.js';
import { managementAccess } from '../../lib/aws/management-access.js';
import { pollHandler } from '../../lib/aws/poll-handler.js';
import { scheduleHandler } from '../../lib/aws/schedule-handler.js';
import { stepHandler } from '../../lib/aws/step-handler.js';
import { systemClock } from '../../lib/aws/system.js';
import { tokenKeyReader } from '../../lib/aws/token-keys.js';
import { turnHandler } from '../../lib/aws/turn-handler.js';
import { createSqsClient } from '../../lib/queue/sqs-client.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/client.js';
import { ensureTable } from '../../lib/store/dynamodb/schema.js';
import { closeAll, result, serve } from '../remote/loopback.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../support/dynoxide.js';
import { type Gateway, openGateway } from './gateway.js';
import { rights } from '../support/rights.js';

const names = ['Api', 'Turn', 'Poll', 'Step', 'Schedule'] as const;
type Name = (typeof names)[number];
const queueNames = ['TurnQueue', 'WorkQueue', 'StepQueue'] as const;
const context = { getRemainingTimeInMillis: () => 900_000 };

describeWithDynoxide('the rights of the functions', () => {
  let database: Dynoxide;
  let sqs: Awaited<ReturnType<typeof startFauxqs>>;
  let queues: SQSClient;
  const queueUrls = new Map<string, string>();
  const gateways = new Map<Name, Gateway>();
  const saved = { ...process.env };

  beforeAll(async () => {
    database = await startDynoxide();
    await ensureTable(createDynamoDbClient({ endpoint: database.endpoint }), 'Table');
    sqs = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
    queues = createSqsClient({ endpoint: `http://127.0.0.1:${sqs.port}` });
    for (const name of queueNames) {
      const { QueueUrl } = await queues.send(
        new CreateQueueCommand(
          name === 'TurnQueue' ? { QueueName: `${name}.fifo`, Attributes: { FifoQueue: 'true' } } : { QueueName: name },
        ),
      );
      queueUrls.set(name, QueueUrl!);
    }
    const services = {
      dynamodb: database.endpoint,
      sqs: `http://127.0.0.1:${sqs.port}`,
      queueUrls,
      secrets: { TokenKeys: 'A'.repeat(64), ManagementToken: 'm' },
    };
    for (const name of names) gateways.set(name, await openGateway(services));
  });

  afterAll(async () => {
    process.env = saved;
    for (const gateway of gateways.values()) await gateway.close();
    await closeAll();
    await sqs.stop();
    await database.stop();
  });

  /** As the function has it, with its own way to AWS. The SDK reads the environment when a client is made. */
  function environmentOf(name: Name): Record<string, string> {
    const { url } = gateways.get(name)!;
    return {
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      AWS_ENDPOINT_URL: url,
      OUTWAIT_LOG_LEVEL: 'error',
      OUTWAIT_TABLE: 'Table',
      OUTWAIT_TURN_QUEUE_URL: `${url}/TurnQueue.fifo`,
      OUTWAIT_WORK_QUEUE_URL: `${url}/WorkQueue`,
      OUTWAIT_STEP_QUEUE_URL: `${url}/StepQueue`,
      OUTWAIT_TOKEN_KEYS_SECRET: 'TokenKeys',
      ...(name === 'Api' ? { OUTWAIT_MANAGEMENT_TOKEN_SECRET: 'ManagementToken' } : {}),
    };
  }

  it('are enough for a run with large results, a remote task, a long step, a child, a signal and a token', async () => {
    const agent = await serve((request, response) => {
      const isStart = request.body.method === 'SendMessage';
      const state = isStart ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED';
      const task = { id: 't1', contextId: 'c1', status: { state } };
      result(response, request, isStart ? { task } : task);
    });
    const app = anApp(agent.url);
    const getDepsOf = (name: Name): GetDeps =>
      withTokens(
        once(() => {
          const env = readEnv(environmentOf(name));
          const deps = createDeps(env, app);
          return { deps, readTokens: tokenKeyReader(env.tokenKeys, deps) };
        }),
      );
    const as = async <Result>(name: Name, run: () => Promise<Result>): Promise<Result> => {
      Object.assign(process.env, environmentOf(name));
      return run();
    };
    const handleApi = apiHandler(
      getDepsOf('Api'),
      managementAccess(readManagementAccess(environmentOf('Api')), systemClock),
    );
    const api = async (method: string, rawPath: string, body?: object): Promise<Record<string, unknown>> => {
      const { statusCode, body: answer } = await as('Api', () => handleApi(anEvent(method, rawPath, body)));
      expect([rawPath, statusCode]).toEqual([rawPath, expect.toBeOneOf([200, 201, 202])]);
      return JSON.parse(String(answer)) as Record<string, unknown>;
    };
    const receivers = [
      ['TurnQueue', 'Turn', turnHandler(getDepsOf('Turn'))],
      ['WorkQueue', 'Poll', pollHandler(getDepsOf('Poll'))],
      ['StepQueue', 'Step', stepHandler(getDepsOf('Step'))],
    ] as const;
    /** Until no message is there that may be received now. */
    const work = async (): Promise<void> => {
      for (let isIdle = false; !isIdle;) {
        isIdle = true;
        for (const [queue, name, handler] of receivers) {
          const QueueUrl = queueUrls.get(queue);
          const { Messages = [] } = await queues.send(
            new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 1, MessageSystemAttributeNames: ['All'] }),
          );
          for (const message of Messages) {
            isIdle = false;
            const { batchItemFailures } = await as(name, () => handler(aBatch(message), context));
            expect([queue, batchItemFailures]).toEqual([queue, []]);
            await queues.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
          }
        }
      }
    };

    const sweep = scheduleHandler(getDepsOf('Schedule'));
    const tick = { ...scheduled, time: new Date().toISOString() };
    await as('Schedule', () => sweep(tick));
    const { runId } = await api('POST', '/runs', { workflow: 'everything', input: {}, key: 'k' });
    await work();
    // What comes before the first poll is due: the remote task, which is read now.
    await api('POST', `/runs/${String(runId)}/waits/2/poll`);
    await work();
    await as('Schedule', () => sweep(tick));
    await work();
    await api('POST', `/runs/${String(runId)}/signals/go`, { payload: 1 });
    await work();
    const { waits } = (await api('GET', '/activities/external')) as { waits: readonly { readonly token: string }[] };
    await api('POST', `/activities/external/${waits[0]!.token}/complete`, { output: { result: 'done' } });
    await work();
    expect(await api('GET', `/runs/${String(runId)}`)).toMatchObject({
      status: 'completed',
      outcome: { result: 'done' },
    });
    await api('GET', '/runs');

    for (const name of names) {
      const used = gateways.get(name)!.actions();
      expect([name, used.filter((action) => !(rights[name] as readonly string[]).includes(action))]).toEqual([
        name,
        [],
      ]);
      // It has come by.
      expect(used).toContain('dynamodb:GetItem Table');
    }
  });
});

const scheduled = JSON.parse(
  readFileSync(new URL('../fixtures/aws-events/scheduled.json', import.meta.url), 'utf8'),
) as Parameters<ReturnType<typeof scheduleHandler>>[0];
const request = JSON.parse(
  readFileSync(new URL('../fixtures/aws-events/http-api-v2-post.json', import.meta.url), 'utf8'),
) as APIGatewayProxyEventV2;

function anEvent(method: string, rawPath: string, body: object | undefined): APIGatewayProxyEventV2 {
  const { requestContext } = request;
  return {
    ...request,
    rawPath,
    rawQueryString: '',
    headers: { authorization: 'Bearer m', 'content-type': 'application/json' },
    requestContext: { ...requestContext, http: { ...requestContext.http, method } },
    body: JSON.stringify(body ?? {}),
    isBase64Encoded: false,
  };
}

function aBatch({ MessageId = '', Body = '', Attributes = {} }: Message): SQSEvent {
  return { Records: [{ messageId: MessageId, body: Body, attributes: Attributes }] } as unknown as SQSEvent;
}

function anApp(agentUrl: string) {
  const child = defineWorkflow({ name: 'child', run: (ctx) => ctx.step('nothing', () => 1) });
  const everything = defineWorkflow({
    name: 'everything',
    async run(ctx) {
      // As hex it compresses to half of it, which is still more than one item holds.
      await ctx.step('large', () => randomBytes(400_000).toString('hex'));
      await ctx.callRemoteTask({ server: 'supplier', skill: 'quote' });
      await ctx.step('long', () => randomBytes(400_000).toString('hex'), { long: true });
      await ctx.child(child, null);
      await ctx.signal('go');
      const { promise } = await ctx.promise({ name: 'approval' });
      return promise;
    },
  });
  return defineApp({
    workflows: [everything, child],
    servers: {
      supplier: a2aAgent({
        url: agentUrl,
        allowPrivateAddresses: true,
        limits: { concurrency: 2, perMinute: 60 },
      }),
    },
    schedules: [{ name: 'yearly', workflow: child, every: { hours: 24 } }],
  });
}
