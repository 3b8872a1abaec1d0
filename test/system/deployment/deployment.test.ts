import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Children } from '../../../examples/demo/child.js';
import { startA2aAgent } from '../../../examples/servers/a2a-agent.js';
import type { RemoteStats } from '../../../examples/servers/remote-server.js';
import type { JsonObject } from '../../../lib/base/json.js';
import { closeAll } from '../../unit/remote/loopback.js';
import { describeWithDynoxide } from '../../support/dynoxide.js';
import { arnOf } from './account.js';
import { sends, writes } from './call-patterns.js';
import { type CloudAssembly, readAssembly } from './cloud-assembly.js';
import { deploy, type DeployOptions, type Deployment } from './deployment.js';
import { Opened } from './opened.js';
import { StackClient } from './stack-client.js';
import { startSupplier, supplierKey, supplierToken } from './supplier.js';
import { synthesize } from './synthesize.js';
import { withEnvironment, without, withoutGrant } from './template-changes.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const testTimeoutMs = 180_000;

/** Most of the time here is the 90 s for which a killed turn keeps its run locked; the rest runs meanwhile. */
describeWithDynoxide('a stack that is deployed from its template', () => {
  const opened = new Opened();
  const processes = new Children();
  let folder: string;
  let reports: string;
  let supplier: string;
  let demo: CloudAssembly;
  const stacks: Deployment[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outwait-deployment-'));
    opened.onClose(() => rm(folder, { recursive: true, force: true }));
    opened.onClose(() => processes.endAll());
    opened.onClose(closeAll);
    [reports, supplier] = await Promise.all([startServer('mcp-server'), startServer('a2a-agent')]);
    demo = await synthesized('demo', { environment: { DEMO_MCP_URL: reports, DEMO_A2A_URL: supplier } });
  });

  afterAll(() => opened.close());

  async function startServer(name: string): Promise<string> {
    const program = join(here, `../../../examples/servers/${name}.ts`);
    const args = ['--import', 'tsx', program, '--task-ms', '3000', '--with-parent'];
    const { readyLine } = await processes.start(name, { args, ready: / ready at http/ }, new AbortController().signal);
    return readyLine.slice(readyLine.indexOf('http'));
  }

  async function synthesized(app: string, settings: object): Promise<CloudAssembly> {
    await synthesize(join(folder, app), { app: join(here, `apps/${app}.config.ts`), ...settings });
    return readAssembly(join(folder, app));
  }

  async function deployed(assembly: CloudAssembly, options: DeployOptions = {}): Promise<Deployment> {
    const stack = await opened.add(deploy(assembly, options), (part) => part.stop());
    stacks.push(stack);
    return stack;
  }

  it.concurrent(
    'runs both workflows of the demo to their ends, one by poll and one by a relay, when a replica of each is killed',
    async () => {
      const stack = await deployed(demo);
      const api = new StackClient(stack);

      // A worker makes its first start, and learns from it that a turn can make the next one.
      const month = { month: '2026-09' };
      expect(await api.outcomeOf(await api.start('monthlyReport', month))).toMatchObject({ status: 'completed' });
      expect(await statsOf(reports)).toMatchObject({ startCalls: [{}], tasks: 1 });

      // The task is started, and this would be the only record of it.
      const handle = stack.aws.hold(writes('TurnFunction', 'handle'));
      const reportId = await api.start('monthlyReport', { month: '2026-10' });
      await stack.lambda.kill((await handle).session);
      expect(await statsOf(reports)).toMatchObject({ startCalls: [{}, {}], tasks: 2 });

      // The poll has read that the task has ended.
      const settlement = stack.aws.hold(writes('PollFunction', 'settledAtMs'));
      const quoteId = await api.start('supplierQuote', { article: 'bolt', quantity: 200, budgetCents: 50_000 });
      await stack.lambda.kill((await settlement).session);

      // The relay's own outcome is settled, and the wake of its run is lost.
      const { token } = (await api.externalWaits()).find(({ server }) => server === 'supplier')!;
      const wake = stack.aws.hold(sends('ApiFunction'));
      const complete = () => api.request('POST', `/activities/external/${token}/complete`, { output: cheaper });
      const [answer] = await Promise.all([complete(), wake.then(({ session }) => stack.lambda.kill(session))]);
      expect(answer).toEqual({ status: 500, body: { message: 'Internal Server Error' } });
      expect(await complete()).toEqual({ status: 200, body: { settled: false, reason: 'already_settled' } });

      expect(await api.outcomeOf(quoteId)).toEqual({
        status: 'completed',
        result: {
          status: 'within budget',
          reference: expect.stringMatching(/^RFQ-\d{6}$/) as unknown,
          totalCents: 41_000,
          currency: 'EUR',
        },
      });
      expect(summaryOf(await api.eventsOf(quoteId))).toEqual([...aTaskThatEnds, 'settled by relay']);
      expect(await statsOf(supplier)).toMatchObject({ startCalls: [{}], tasks: 1, reads: 1, cancels: 0 });

      expect(await api.outcomeOf(reportId)).toEqual({
        status: 'completed',
        result: {
          status: 'ready',
          month: '2026-10',
          rows: 410,
          file: 'bookings-2026-10.csv',
          recipients: ['finance@example.com'],
        },
      });
      expect(summaryOf(await api.eventsOf(reportId))).toEqual([...aTaskThatEnds, 'settled by poll']);
      // The server recognises the second call by its key as a repeat of the first.
      const { startCalls, ...others } = await statsOf(reports);
      expect(others).toEqual({ tasks: 2, reads: 2, cancels: 0 });
      expect(startCalls.slice(1)).toEqual([{ key: startCalls[1]!.key }, { key: startCalls[1]!.key }]);
      expect(startCalls[0]!.key).not.toBe(startCalls[1]!.key);
      // All three replicas, and the one that replaced the killed one.
      expect(stack.lambda.servedBy('TurnFunction')).toHaveLength(4);
      expectNoTrouble(stack);
    },
    testTimeoutMs,
  );

  it.concurrent(
    'has the rights for large payloads, a remote task with secrets, long steps, a child, a signal, a token and schedules',
    async () => {
      const agent = await startSupplier();
      const payloadKeyArn = arnOf('kms', 'key/payloads');
      const assembly = await synthesized('everything', {
        environment: { SUPPLIER_URL: agent.url, OUTWAIT_LOG_LEVEL: 'debug' },
        secrets: ['prod/supplier'],
        parameters: ['/prod/supplier/key'],
        payloadKeyArn,
        eventBus: 'lifecycle',
        rollout: { kind: 'allAtOnce' },
      });
      const stack = await deployed(assembly, {
        // Another replica runs the second sweep, and opens what the first one has sealed.
        replicas: 2,
        kmsKeys: [payloadKeyArn],
        secrets: { 'prod/supplier': supplierToken },
        parameters: { '/prod/supplier/key': supplierKey },
      });
      const api = new StackClient(stack);
      await api.start('waiting', {});
      const runId = await api.start('everything', {});
      const path = `/runs/${runId}/waits/${await api.waitOf(runId, 'remoteTask')}`;
      // Reads now and repeatedly, instead of at its next instants, until the task is no longer waited for.
      await vi.waitFor(
        async () => {
          expect((await api.request('POST', `${path}/poll`)).body).toEqual({ accepted: false });
        },
        { timeout: 30_000, interval: 1_000 },
      );
      await api.waitOf(runId, 'signal');
      expect((await api.request('POST', `${path}/cancel-remote`)).body).toEqual({ cancelled: true });
      await api.request('POST', `/runs/${runId}/signals/go`, { payload: 1 });
      await api.waitOf(runId, 'external');
      const { token } = (await api.externalWaits()).find(({ server }) => server === undefined)!;
      const output = { result: 'done' };
      expect((await api.request('POST', `/activities/external/${token}/complete`, { output })).body).toEqual({
        settled: true,
      });
      expect(await api.outcomeOf(runId)).toEqual({ status: 'completed', result: 'done' });
      expect((await api.request('GET', '/runs')).status).toBe(200);

      // The second sweep, a minute after the first: a long step and a read that are due, and the next ticks.
      await vi.waitFor(() => {
        expect(stack.denials()).toEqual([]);
        const used = stack.grants().filter(({ uses }) => uses > 0);
        const bySweep = used.map(({ text }) => text).filter((text) => text.startsWith('ScheduleFunctionRole '));
        expect(bySweep).toEqual(
          expect.arrayContaining([
            'ScheduleFunctionRole sqs:SendMessage WorkQueue',
            'ScheduleFunctionRole sqs:SendMessage StepQueue',
            'ScheduleFunctionRole dynamodb:UpdateItem Table',
          ]),
        );
      }, 90_000);
      const events = stack.events.taken.filter((event) => event.runId === runId);
      expect(events.map(({ type }) => type)).toEqual([
        'RunStarted',
        'RemoteTaskStarted',
        'RemoteTaskSettled',
        'RunCompleted',
      ]);
      const buses = stack.events.requests.flat().map(({ EventBusName: bus }) => bus);
      expect(new Set(buses)).toEqual(new Set([arnOf('events', 'event-bus/lifecycle')]));
      expectNoTrouble(stack);
    },
    testTimeoutMs,
  );

  it.concurrent(
    'fails by name where a grant is missing, and puts aside what fails for good',
    async () => {
      const assembly = withoutGrant(
        withoutGrant(demo, 'TurnFunctionRole', 'dynamodb:PutItem'),
        'ScheduleFunctionRole',
        'index/due',
      );
      const stack = await deployed(assembly, { replicas: 1, retryDelaysMs: [0, 0] });
      const api = new StackClient(stack);
      const runId = await api.start('monthlyReport', { month: '2026-10' });
      await vi.waitFor(() => {
        expect(stack.denials()).toContain('TurnFunctionRole dynamodb:Query Table');
        expect(stack.messagesIn('SweepDeadLetters')).not.toEqual([]);
        // A line is written after the denial: its stack is mapped.
        expect(stack.logs).toContainEqual({
          replica: 'TurnFunction-1',
          line: expect.stringContaining('(AccessDeniedException)') as unknown,
        });
      }, 30_000);
      expect(stack.denials()).toContain('ScheduleFunctionRole dynamodb:Query Table/index/due');
      expect((await api.request('GET', `/runs/${runId}`)).body).toMatchObject({ status: 'running' });
      expect(JSON.parse(stack.messagesIn('SweepDeadLetters')[0]!)).toMatchObject({
        requestPayload: { source: 'aws.events' },
        responsePayload: { errorType: 'EngineError' },
      });
    },
    testTimeoutMs,
  );

  it.concurrent(
    'does no more than its template says: a route, an event source and a permission less',
    async () => {
      const agent = await startA2aAgent({ taskMs: 0 });
      opened.onClose(() => agent.close());
      const assembly = without(
        withEnvironment(demo, { DEMO_A2A_URL: agent.url }),
        /ANYrunsrunIdwhy[0-9A-F]{8}$/,
        /WorkQueue.*EventSource|EventSource.*WorkQueue/,
        /AllowEventRule/,
      );
      const stack = await deployed(assembly, { replicas: 1 });
      const api = new StackClient(stack);
      const runId = await api.start('supplierQuote', { article: 'bolt', quantity: 200, budgetCents: 50_000 });
      // The first poll is due, and its message is not received.
      await vi.waitFor(() => {
        expect(stack.messagesIn('WorkQueue')).not.toEqual([]);
      }, 30_000);
      expect(agent.stats()).toMatchObject({ tasks: 1, reads: 0 });
      expect((await api.request('GET', `/runs/${runId}`)).body).toMatchObject({ status: 'running' });
      expect(await api.request('GET', `/runs/${runId}/why`)).toEqual({ status: 404, body: { message: 'Not Found' } });
      // The rule may not invoke the function, and sends its event to the dead-letter queue itself.
      expect(JSON.parse(stack.messagesIn('SweepDeadLetters')[0] ?? 'null')).toMatchObject({
        'detail-type': 'Scheduled Event',
      });
      expect(stack.logs.filter(({ replica }) => replica.startsWith('ScheduleFunction'))).toEqual([]);
    },
    testTimeoutMs,
  );

  it.concurrent(
    'receives a push of an agent that it told its own address, and reads the task long before the next read is due',
    async () => {
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const agent = await startA2aAgent({ pushes: true, work: () => ended });
      opened.onClose(() => agent.close());
      const stack = await deployed(withEnvironment(demo, { DEMO_A2A_URL: agent.url }));
      const api = new StackClient(stack);
      const runId = await api.start('supplierQuote', { article: 'bolt', quantity: 200, budgetCents: 50_000 });
      // The first pushes came with the start, so the read after the first one is due a minute later.
      await vi.waitFor(() => {
        expect(agent.stats().reads).toBe(1);
      }, 60_000);
      const endedAtMs = Date.now();
      end();
      expect(await api.outcomeOf(runId)).toMatchObject({ status: 'completed' });
      expect(agent.stats()).toMatchObject({ startCalls: [{}], tasks: 1, reads: 2 });
      expect(Date.now() - endedAtMs).toBeLessThan(45_000);
      expect(summaryOf(await api.eventsOf(runId))).toContain('settled by poll');
    },
    testTimeoutMs,
  );

  it('makes use of all that is granted, but for what CDK and Lambda need to be there', () => {
    const uses = new Map<string, number>();
    for (const { text, uses: count } of stacks.flatMap((stack) => stack.grants()))
      uses.set(text, (uses.get(text) ?? 0) + count);
    expect(uses.size).toBeGreaterThan(60);
    const unused = [...uses].filter(([text, count]) => count === 0 && !ofSlowReads.has(text)).map(([text]) => text);
    expect(unused.sort()).toEqual(Object.keys(unusedGrants).sort());
  });
});

const consumer = 'CDK grants it to every consumer of a queue; Lambda asks for it where it throttles a function';
const consumerByName = 'CDK grants it to every consumer of a queue; Lambda knows the URL';
const sender = 'CDK grants it to whoever sends to a queue; Lambda only sends';

/** Used only if the machine is so busy that the servers here answer slowly. */
const ofSlowReads = new Set(
  ['SendMessage', 'DeleteMessage'].map((action) => `PollFunctionRole sqs:${action} SlowQueue`),
);

/** Grants that no test here uses, and why they are needed. */
const unusedGrants: Readonly<Record<string, string>> = {
  'ApiFunctionRole dynamodb:Query Table/index/tenant': 'no caller of this deployment has a tenant',
  'TurnFunctionRole sqs:ChangeMessageVisibility TurnQueue': consumer,
  'TurnFunctionRole sqs:GetQueueUrl TurnQueue': consumerByName,
  'PollFunctionRole sqs:ChangeMessageVisibility WorkQueue': consumer,
  'PollFunctionRole sqs:GetQueueUrl WorkQueue': consumerByName,
  'StepFunctionRole sqs:ChangeMessageVisibility StepQueue': consumer,
  'StepFunctionRole sqs:GetQueueUrl StepQueue': consumerByName,
  'StepFunctionRole sqs:ChangeMessageVisibility StartQueue': consumer,
  'StepFunctionRole sqs:GetQueueUrl StartQueue': consumerByName,
  'PollFunctionRole sqs:ChangeMessageVisibility SlowQueue': consumer,
  'PollFunctionRole sqs:GetQueueUrl SlowQueue': consumerByName,
  'PollFunctionRole sqs:SendMessage StartQueue': 'for a start whose message was lost',
  'TurnFunctionRole secretsmanager:GetSecretValue arn:aws:secretsmanager:eu-west-1:000000000000:secret:prod/supplier-??????':
    'the only call of this supplier is its first, which a worker makes',
  'TurnFunctionRole ssm:GetParameter arn:aws:ssm:eu-west-1:000000000000:parameter/prod/supplier/key':
    'the only call of this supplier is its first, which a worker makes',
  'ScheduleFunctionRole sqs:GetQueueAttributes SweepDeadLetters': sender,
  'ScheduleFunctionRole sqs:GetQueueUrl SweepDeadLetters': sender,
};

/** A quote that the supplier's own task would not have reached. */
const cheaper = { result: { artifacts: [{ parts: [{ data: { totalCents: 41_000, currency: 'EUR' } }] }] } };

/** Each event occurs once, however often its work was begun. */
const aTaskThatEnds = [
  'RunStarted',
  'StepRequested',
  'StepCompleted',
  'RemoteTaskRequested',
  'RemoteTaskStarted',
  'TokenSettled',
  'RunEnding',
  'RunEnded',
];

/** Returns the types of the events, and who has settled the only token. */
function summaryOf(events: readonly JsonObject[]): readonly string[] {
  const settled = events.find(({ type }) => type === 'TokenSettled') as {
    readonly settlement?: { readonly by: string };
  };
  return [...events.map(({ type }) => type as string), `settled by ${settled.settlement?.by ?? 'nobody'}`];
}

async function statsOf(url: string): Promise<RemoteStats> {
  return (await (await fetch(new URL('/stats', url))).json()) as RemoteStats;
}

/**
 * Checks that nothing was refused, that nothing unsupported was requested, and that no function has reported a problem.
 */
function expectNoTrouble(stack: Deployment): void {
  expect(stack.denials()).toEqual([]);
  expect(stack.aws.problems).toEqual([]);
  const levels = stack.logs.map(({ line }) => (JSON.parse(line) as { readonly level?: string }).level);
  expect(levels.filter((level) => level === 'error')).toEqual([]);
}
