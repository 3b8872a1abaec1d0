import { readFileSync } from 'node:fs';
import type { APIGatewayProxyEventV2, ScheduledEvent, SQSEvent, SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { once } from '../../../lib/aws/get-deps.js';
import { pollHandler } from '../../../lib/aws/poll-handler.js';
import { scheduleHandler } from '../../../lib/aws/schedule-handler.js';
import { stepHandler } from '../../../lib/aws/step-handler.js';
import { system } from '../../../lib/process/system.js';
import { turnHandler } from '../../../lib/aws/turn-handler.js';
import { EngineError } from '../../../lib/base/errors.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { groupOf, type PushMessage, queueOf } from '../../../lib/queue/queue.js';
import type { Push, PushSender } from '../../../lib/remote/push-sender.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aWorld, type World } from '../../unit/http/world.js';

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../support/fixtures/aws-events/${name}.json`, import.meta.url), 'utf8'));
const post = fixture('http-api-v2-post') as APIGatewayProxyEventV2;
const get = fixture('http-api-v2-get') as APIGatewayProxyEventV2;
const fifo = fixture('sqs-fifo') as SQSEvent;
const standard = fixture('sqs-standard') as SQSEvent;
const scheduled = fixture('scheduled') as ScheduledEvent;
const plenty = { getRemainingTimeInMillis: () => 60_000 };

/** Returns an event with the fixture's record once for each body. */
function batch(event: SQSEvent, bodies: readonly { id: string; body: string; group?: string }[]): SQSEvent {
  const [record] = event.Records;
  return {
    Records: bodies.map(({ id, body, group }): SQSRecord => ({
      ...record!,
      messageId: id,
      body,
      attributes: { ...record!.attributes, ...(group === undefined ? {} : { MessageGroupId: group }) },
    })),
  };
}

/** A world that pushes through a sender, and its handler of work. */
function aPollWorld(pushSender: PushSender) {
  const world = aWorld();
  const handler = pollHandler(() => ({ ...world.deps, pushSender }));
  const handle = async (...bodies: readonly string[]) =>
    handler(
      batch(
        standard,
        bodies.map((body, n) => ({ id: `m${n}`, body })),
      ),
      plenty,
    );
  return { world, handle };
}

async function aRun(world: World, workflow = 'waits'): Promise<string> {
  const { runId } = await startRun(world.deps, { workflow, input: { text: 'x' } });
  return runId;
}

describe('the api function', () => {
  it('answers an HTTP API event with a result in payload format 2.0', async () => {
    const world = aWorld();
    const result = await apiHandler(() => world.deps)(post);
    expect(result).toEqual({
      statusCode: 201,
      headers: expect.objectContaining({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
      }) as unknown,
      body: expect.stringMatching(/^\{"runId":"[0-9a-f]{32}"\}$/) as unknown,
      isBase64Encoded: false,
    });
    expect(world.dump()).toContain('grüße');
  });

  it('reads a body in base64', async () => {
    const world = aWorld();
    const event = post;
    const encoded = { ...event, body: Buffer.from(event.body!).toString('base64'), isBase64Encoded: true };
    expect((await apiHandler(() => world.deps)(encoded)).statusCode).toBe(201);
    expect(world.dump()).toContain('grüße');
  });

  it('reads the query', async () => {
    const world = aWorld();
    await aRun(world);
    const result = await apiHandler(() => world.deps)(get);
    expect(JSON.parse(result.body!)).toMatchObject({ runs: [{ workflow: 'waits', status: 'running' }] });
  });

  it('asks for the token that is configured and refuses everybody without one', async () => {
    const world = aWorld();
    const event = get;
    const withToken = { ...event, headers: { ...event.headers, authorization: 'Bearer canary-s3cret' } };
    const configured = apiHandler(() => world.deps, { managementTokens: () => ['canary-s3cret'] });
    expect((await configured(event)).statusCode).toBe(401);
    expect((await configured(withToken)).statusCode).toBe(200);
    const forgotten = apiHandler(() => world.deps, { managementTokens: () => [] });
    expect((await forgotten(withToken)).statusCode).toBe(401);
  });

  it('answers a header that HTTP does not allow, and a method that no route takes, in its own form', async () => {
    const world = aWorld();
    const event = get;
    const badHeader = await apiHandler(() => world.deps)({
      ...event,
      headers: { ...event.headers, 'x-odd': 'canary\u0000' },
    });
    expect([badHeader.statusCode, badHeader.body]).toEqual([
      400,
      '{"error":{"code":"INPUT_INVALID","message":"a header is not valid"}}',
    ]);
    const http = { ...event.requestContext.http, method: 'TRACE' };
    const trace = await apiHandler(() => world.deps)({ ...event, requestContext: { ...event.requestContext, http } });
    expect(trace.statusCode).toBe(405);
  });

  it.each([
    ['ANY /inputs/{inputId}', (runId: string) => `/inputs/../runs/${runId}/terminate`],
    ['ANY /runs/{runId}/pause', (runId: string) => `/runs/${runId}/signals/pause`],
    ['ANY /runs/{runId}/signals/{name}', (runId: string) => `/runs/${runId}/signals/%2e%2E/terminate`],
    ['ANY /activities/external/{token}/fail', (runId: string) => `/activities/external/..\\../runs/${runId}/terminate`],
  ])('serves no other route than the one that the gateway let the caller use: %s', async (routeKey, pathTo) => {
    const world = aWorld();
    const runId = await aRun(world);
    const before = world.dump();
    const request = (rawPath: string) =>
      apiHandler(() => world.deps)({ ...post, routeKey, rawPath, rawQueryString: '', body: '{}' });
    const { statusCode, body } = await request(pathTo(runId));
    expect([statusCode, body]).toEqual([
      404,
      '{"error":{"code":"ROUTE_NOT_FOUND","message":"there is no such route"}}',
    ]);
    expect(world.dump()).toBe(before);
  });

  it('keeps a decoded "?" or "#" of the path in the path', async () => {
    const world = aWorld();
    const event = {
      ...get,
      routeKey: '$default',
      rawPath: '/runs?limit=1#',
      rawQueryString: '',
    };
    expect((await apiHandler(() => world.deps)(event)).statusCode).toBe(404);
  });
});

describe('the turn function', () => {
  it('runs the turn of the run in the message', async () => {
    const world = aWorld();
    const runId = await aRun(world, 'echo');
    const handled = await turnHandler(() => world.deps)(
      batch(fifo, [{ id: 'm1', body: JSON.stringify({ runId }), group: runId }]),
      plenty,
    );
    expect(handled).toEqual({ batchItemFailures: [] });
    expect(world.dump()).toContain('"status","completed"');
  });

  it('acknowledges a message for a run that is not there', async () => {
    const world = aWorld();
    expect(await turnHandler(() => world.deps)(fifo, plenty)).toEqual({
      batchItemFailures: [],
    });
  });

  it('gives back every message of a group that failed, and none of another', async () => {
    const world = aWorld();
    const [failing, fine] = [await aRun(world, 'echo'), await aRun(world, 'echo')];
    const readRun = world.deps.store.runs.read.bind(world.deps.store.runs);
    let turns = 0;
    world.deps.store.runs.read = async (runId) => {
      if (runId !== failing) return readRun(runId);
      turns += 1;
      throw new EngineError('STORE_UNAVAILABLE', 'throttled');
    };
    const event = batch(fifo, [
      { id: 'm1', body: JSON.stringify({ runId: failing }), group: failing },
      { id: 'm2', body: JSON.stringify({ runId: fine }), group: fine },
      { id: 'm3', body: JSON.stringify({ runId: failing }), group: failing },
    ]);
    const { batchItemFailures } = await turnHandler(() => world.deps)(event, plenty);
    expect(batchItemFailures).toEqual([{ itemIdentifier: 'm1' }, { itemIdentifier: 'm3' }]);
    // Two messages for one run, sent before its turn, need only one turn.
    expect(turns).toBe(1);
    expect(world.lines).toContainEqual(expect.objectContaining({ level: 'error', event: 'turn failed' }));
  });

  it('fails a step that has taken three turns with it, by the count of deliveries', async () => {
    const world = aWorld();
    let ran = 0;
    const kills = defineWorkflow({
      name: 'kills',
      run: (ctx) =>
        ctx.step('kills', () => {
          ran += 1;
          return new Promise(() => undefined);
        }),
    });
    const deps = { ...world.deps, delay: system.delay, app: defineApp({ workflows: [kills] }) };
    const { runId } = await startRun(deps, { workflow: 'kills' });
    const delivered = (count: number): SQSEvent => {
      const { Records } = batch(fifo, [{ id: 'm1', body: JSON.stringify({ runId }), group: runId }]);
      return {
        Records: Records.map((record) => ({
          ...record,
          attributes: { ...record.attributes, ApproximateReceiveCount: String(count) },
        })),
      };
    };
    // The invocation never returns, as if its process had died.
    for (let count = 1; count <= 4; count++) {
      void turnHandler(() => deps)(delivered(count), plenty);
      for (let turn = 0; turn < 200 && ran < count; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await turnHandler(() => deps)(delivered(5), plenty)).toEqual({ batchItemFailures: [] });
    expect(world.dump()).toContain('STEP_POISONED');
  });

  it.each(['', 'null', '{', '{}', '{"runId":7}', '{"runId":"x"}', '["a"]'])(
    'reports a malformed body as failed and logs no text of it: %s',
    async (body) => {
      const world = aWorld();
      const before = world.dump();
      expect(await turnHandler(() => world.deps)(batch(fifo, [{ id: 'm1', body }]), plenty)).toEqual({
        batchItemFailures: [{ itemIdentifier: 'm1' }],
      });
      expect(world.lines).toEqual([{ level: 'error', event: 'malformed turn message', fields: { messageId: 'm1' } }]);
      expect(world.dump()).toBe(before);
    },
  );
});

describe('the poll function', () => {
  const poll = (runId: string, dueAtMs?: number): string =>
    JSON.stringify({ kind: 'poll', runId, waitId: '1', ...(dueAtMs === undefined ? {} : { dueAtMs }) });

  it('reads the remote task of each message and reports what is malformed', async () => {
    const world = aWorld();
    const runId = await aRun(world);
    await world.runTurns();
    const event = batch(standard, [
      { id: 'm1', body: poll(runId) },
      { id: 'm2', body: '{"kind":"poll"}' },
      { id: 'm3', body: '{"kind":"dance","runId":"00000000000000000000000000000000"}' },
    ]);
    expect(await pollHandler(() => world.deps)(event, plenty)).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm2' }, { itemIdentifier: 'm3' }],
    });
    expect(world.reports.reads).toBe(1);
  });

  it('passes a wake on to the turn queue', async () => {
    const world = aWorld();
    expect(await pollHandler(() => world.deps)(standard, plenty)).toEqual({
      batchItemFailures: [],
    });
    expect(world.queues.turn.receive(1)[0]).toMatchObject({
      body: '{"runId":"00000000000000000000000000000000","news":[]}',
    });
  });

  it('gives a message back when its work throws', async () => {
    const world = aWorld();
    const runId = await aRun(world);
    await world.runTurns();
    world.fault = new EngineError('STORE_UNAVAILABLE', 'throttled');
    expect(await pollHandler(() => world.deps)(batch(standard, [{ id: 'm1', body: poll(runId) }]), plenty)).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm1' }],
    });
  });

  it('S0-73: starts the ninth read only when one of eight has ended', async () => {
    const world = aWorld();
    const runs: string[] = [];
    for (let n = 0; n < 9; n++) runs.push(await aRun(world));
    await world.runTurns();
    const waiting: (() => void)[] = [];
    world.reports.get = () =>
      new Promise((resolve) =>
        waiting.push(() => {
          resolve({ kind: 'working', state: 'working' });
        }),
      );
    const handled = pollHandler(() => world.deps)(
      batch(
        standard,
        runs.map((runId, n) => ({ id: `m${n}`, body: poll(runId) })),
      ),
      plenty,
    );
    const reachesOf = async (count: number): Promise<void> => {
      for (let turn = 0; turn < 200 && waiting.length < count; turn++)
        await new Promise((resolve) => setImmediate(resolve));
    };
    await reachesOf(9);
    expect(waiting).toHaveLength(8);
    waiting[0]!();
    await reachesOf(9);
    expect(waiting).toHaveLength(9);
    for (const answer of waiting) answer();
    expect(await handled).toEqual({ batchItemFailures: [] });
  });

  it('S0-73: a server that does not answer delays its own reads only', async () => {
    const world = aWorld();
    const runs: string[] = [];
    for (let n = 0; n < 10; n++) runs.push(await aRun(world));
    await world.runTurns();
    const started: string[] = [];
    const held: (() => void)[] = [];
    world.reports.get = async (handle) => {
      started.push(handle.taskId);
      if (started.length <= 8) await new Promise<void>((resolve) => held.push(resolve));
      return { kind: 'working', state: 'working' };
    };
    const body = (runId: string, server: string): string =>
      JSON.stringify({ kind: 'poll', runId, waitId: '1', server });
    const handled = pollHandler(() => world.deps)(
      batch(
        standard,
        runs.map((runId, n) => ({ id: `m${n}`, body: body(runId, n < 9 ? 'hangs' : 'answers') })),
      ),
      plenty,
    );
    for (let turn = 0; turn < 200 && started.length < 9; turn++) await new Promise((resolve) => setImmediate(resolve));
    // Eight messages of the server that hangs, and the message of the other server behind its ninth.
    expect(started).toHaveLength(9);
    for (const answer of held) answer();
    expect(await handled).toEqual({ batchItemFailures: [] });
    expect(started).toHaveLength(10);
  });

  describe('of a server that answers slowly', () => {
    const body = (runId: string, server = 'reports', more: object = {}): string =>
      JSON.stringify({ kind: 'poll', runId, waitId: '1', server, ...more });
    const passedOn = (world: World): unknown[] =>
      world.queues.work
        .receive(100)
        .map((message) => JSON.parse(message.body) as { readonly isSlow?: true })
        .filter(({ isSlow }) => isSlow);

    /** A world whose server takes `tookMs` for a read, its handler, and runs that wait for tasks of it. */
    async function slowWorld(count: number, tookMs = 2_000) {
      const world = aWorld();
      const runs: string[] = [];
      for (let n = 0; n < count; n++) runs.push(await aRun(world));
      await world.runTurns();
      world.queues.work.receive(10);
      const took = { ms: tookMs };
      const read: string[] = [];
      world.reports.get = async (handle) => {
        read.push(handle.taskId);
        world.clock.atMs += took.ms;
        return { kind: 'working', state: 'working' };
      };
      const handler = pollHandler(() => world.deps);
      const handle = async (...bodies: readonly string[]) =>
        handler(
          batch(
            standard,
            bodies.map((text, n) => ({ id: `m${n}`, body: text })),
          ),
          plenty,
        );
      return { world, runs, read, took, handle };
    }

    it('passes the next reads on to the slow queue, and makes those of others', async () => {
      const { world, runs, read, handle } = await slowWorld(3);
      await handle(body(runs[0]!));
      expect(await handle(body(runs[1]!), body(runs[2]!, 'others'))).toEqual({ batchItemFailures: [] });
      expect(read).toHaveLength(2);
      expect(passedOn(world)).toEqual([{ kind: 'poll', runId: runs[1], waitId: '1', server: 'reports', isSlow: true }]);
    });

    it('passes on what waits for a place in the same batch', async () => {
      const { world, runs, read, handle } = await slowWorld(10);
      await handle(...runs.map((runId) => body(runId)));
      expect(read.length).toBeLessThanOrEqual(8);
      expect(passedOn(world)).toHaveLength(10 - read.length);
    });

    it('makes the reads that come from the slow queue', async () => {
      const { world, runs, read, handle } = await slowWorld(2);
      await handle(body(runs[0]!));
      await handle(body(runs[1]!, 'reports', { isSlow: true }));
      expect(read).toHaveLength(2);
      expect(passedOn(world)).toEqual([]);
    });

    it('makes its reads again five minutes after the last slow one', async () => {
      const { world, runs, read, took, handle } = await slowWorld(3);
      await handle(body(runs[0]!));
      took.ms = 100;
      world.clock.atMs += 299_999;
      await handle(body(runs[1]!));
      expect(read).toHaveLength(1);
      world.clock.atMs += 1;
      await handle(body(runs[2]!));
      await handle(body(runs[1]!));
      expect(read).toHaveLength(3);
    });

    it('makes all reads of one that answers within two seconds', async () => {
      const { world, runs, read, handle } = await slowWorld(2, 1_999);
      await handle(body(runs[0]!));
      await handle(body(runs[1]!));
      expect(read).toHaveLength(2);
      expect(passedOn(world)).toEqual([]);
    });
  });

  it('passes a wake on however little time is left', async () => {
    const world = aWorld();
    const hurried = { getRemainingTimeInMillis: () => 0 };
    expect(await pollHandler(() => world.deps)(standard, hurried)).toEqual({ batchItemFailures: [] });
    expect(world.queues.turn.size).toBe(1);
  });

  it('is told the server of each remote task, by the start and by the sweep', async () => {
    const world = aWorld();
    const runId = await aRun(world);
    await world.runTurns();
    world.clock.atMs = world.queues.work.nextChangeAtMs()!;
    await scheduleHandler(() => world.deps)(scheduled);
    const bodies = world.queues.work.receive(10).map((message) => JSON.parse(message.body) as unknown);
    expect(bodies).toHaveLength(2);
    for (const body of bodies) expect(body).toMatchObject({ kind: 'poll', runId, server: 'reports' });
  });

  it('starts no read that the time left does not cover', async () => {
    const world = aWorld();
    const runId = await aRun(world);
    await world.runTurns();
    const handled = await pollHandler(() => world.deps)(batch(standard, [{ id: 'm1', body: poll(runId) }]), {
      getRemainingTimeInMillis: () => 39_999,
    });
    expect(handled).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
    expect(world.reports.reads).toBe(0);
  });
});

describe('work for a receiver of pushes that answers slowly', () => {
  const isSlow = ({ url }: Push): boolean => url.includes('slow');

  /** A world in which pushes to one receiver take ten seconds, and no answer comes. */
  async function pushingWorld(urls: readonly string[]) {
    const sent: string[] = [];
    const { world, handle } = aPollWorld({
      allows: async () => true,
      send: async (push) => {
        sent.push(push.url);
        if (!isSlow(push)) return { kind: 'answered', status: 204 };
        world.clock.atMs += 10_000;
        return { kind: 'failed' };
      },
    });
    const store = await world.deps.store.pushConfigs();
    const bodies: string[] = [];
    for (const [n, url] of urls.entries()) {
      const taskId = await aRun(world);
      const { atMs } = world.clock;
      const config = { taskId, configId: `c${n}`, createdAtMs: atMs, wire: 'callback' } as const;
      const counts = { cursor: 0, owed: 1, failures: 0, refusals: 0, dueAtMs: atMs };
      await store.put({ ...config, ...counts, receiver: { url, secret: 'whsec_' } });
      bodies.push(JSON.stringify({ kind: 'push', runId: taskId, configId: config.configId }));
    }
    world.queues.work.receive(100);
    return { world, sent, bodies, handle };
  }
  const slow = 'https://slow.example/a';

  it('is passed on to the slow queue, and pushes to others are sent', async () => {
    const { world, sent, bodies, handle } = await pushingWorld([
      ...[slow, 'https://slow.example/b', 'https://quick.example'],
    ]);
    await handle(bodies[0]!);
    expect(await handle(bodies[1]!, bodies[2]!)).toEqual({ batchItemFailures: [] });
    expect(sent).toEqual([slow, 'https://quick.example']);
    // The retry of the first one comes later, to the slow queue too.
    world.clock.atMs += 5_000;
    const passedOn = world.queues.work.receive(100).map((message) => JSON.parse(message.body) as PushMessage);
    expect(passedOn.map(({ configId }) => configId).toSorted()).toEqual(['c0', 'c1']);
    expect(passedOn.map(queueOf)).toEqual(['slow', 'slow']);
    // With one group, tasks that have their news pushed there do not delay those that are read elsewhere.
    expect(new Set(passedOn.map(groupOf)).size).toBe(1);
    expect(JSON.stringify(passedOn)).not.toContain('slow.example');

    await handle(...passedOn.map((message) => JSON.stringify(message)));
    expect(sent.slice(2).toSorted()).toEqual([slow, 'https://slow.example/b']);
  });

  it('is done again five minutes after the last slow push', async () => {
    const { world, sent, bodies, handle } = await pushingWorld([slow, 'https://slow.example/b']);
    await handle(bodies[0]!);
    world.clock.atMs += 300_000;
    await handle(bodies[1]!);
    expect(sent).toHaveLength(2);
  });
});

describe('the step function', () => {
  const works = defineWorkflow({
    name: 'works',
    run: (ctx) => ctx.step('work', () => 'worked', { long: true, timeout: { seconds: 60 } }),
  });
  async function aStep(): Promise<{ world: World; runId: string; body: string }> {
    const world = aWorld([works]);
    const runId = await aRun(world, 'works');
    await world.runTurns();
    const [message] = world.queues.step.receive(1);
    return { world, runId, body: message!.body };
  }
  const enough = { getRemainingTimeInMillis: () => 90_000 };

  it('is sent a message with the run, the wait and the due instant, and settles the step', async () => {
    const { world, runId, body } = await aStep();
    expect(JSON.parse(body)).toEqual({ runId, waitId: '1', dueAtMs: world.clock.atMs + 60_000 });
    expect(await stepHandler(() => world.deps)(batch(standard, [{ id: 'm1', body }]), enough)).toEqual({
      batchItemFailures: [],
    });
    await world.runTurns();
    expect((await world.deps.store.heads.read(runId))?.status).toBe('completed');
  });

  it('begins no attempt that the time left does not cover, and leaves it to the sweep', async () => {
    const { world, runId, body } = await aStep();
    const before = world.dump();
    const hurried = { getRemainingTimeInMillis: () => 89_999 };
    expect(await stepHandler(() => world.deps)(batch(standard, [{ id: 'm1', body }]), hurried)).toEqual({
      batchItemFailures: [],
    });
    expect(world.dump()).toBe(before);
    world.clock.atMs += 60_000;
    await scheduleHandler(() => world.deps)(scheduled);
    expect(JSON.parse(world.queues.step.receive(1)[0]!.body)).toEqual({
      runId,
      waitId: '1',
      dueAtMs: world.clock.atMs,
    });
    expect(world.queues.work.size).toBe(0);
  });

  it.each(['', 'null', '{"runId":7}', '{"runId":"00000000000000000000000000000000","waitId":"1"}', '["a"]'])(
    'reports a malformed body as failed and logs no text of it: %s',
    async (body) => {
      const world = aWorld();
      expect(await stepHandler(() => world.deps)(batch(standard, [{ id: 'm1', body }]), enough)).toEqual({
        batchItemFailures: [{ itemIdentifier: 'm1' }],
      });
      expect(world.lines).toEqual([{ level: 'error', event: 'malformed step message', fields: { messageId: 'm1' } }]);
    },
  );

  it('gives a message back when the store does not answer', async () => {
    const { world, body } = await aStep();
    world.fault = new EngineError('STORE_UNAVAILABLE', 'throttled');
    expect(await stepHandler(() => world.deps)(batch(standard, [{ id: 'm1', body }]), enough)).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm1' }],
    });
  });
});

describe('the schedule function', () => {
  it('wakes a run whose first wake was lost', async () => {
    const world = aWorld();
    const runId = await aRun(world);
    const [lost] = world.queues.turn.receive(1);
    world.queues.turn.deleteMessage(lost!.receiptHandle);
    await scheduleHandler(() => world.deps)(scheduled);
    expect(world.queues.turn.receive(1)[0]).toMatchObject({ groupId: runId });
  });

  it('sweeps the other shards when one cannot be read, and then throws', async () => {
    const world = aWorld();
    const runs: string[] = [];
    for (let n = 0; n < 40; n++) runs.push(await aRun(world));
    for (let [sent] = world.queues.turn.receive(1); sent !== undefined; [sent] = world.queues.turn.receive(1))
      world.queues.turn.deleteMessage(sent.receiptHandle);
    const shardOf = (runId: string): number => Number.parseInt(runId.slice(0, 4), 16) % 16;
    const unreadable = shardOf(runs[0]!);
    const listDue = world.deps.store.lists.due.bind(world.deps.store.lists);
    world.deps.store.lists.due = async (shard, ...rest) => {
      if (shard === unreadable) throw new EngineError('STORE_UNAVAILABLE', 'throttled');
      // Answers later than the shard that fails.
      await new Promise((resolve) => setImmediate(resolve));
      return listDue(shard, ...rest);
    };
    await expect(scheduleHandler(() => world.deps)(scheduled)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const woken: (string | undefined)[] = [];
    for (let [sent] = world.queues.turn.receive(1); sent !== undefined; [sent] = world.queues.turn.receive(1)) {
      woken.push(sent.groupId);
      world.queues.turn.deleteMessage(sent.receiptHandle);
    }
    expect(woken.sort()).toEqual(runs.filter((runId) => shardOf(runId) !== unreadable).sort());
  });

  it('F86 starts what the clock says when a partition of the due index cannot be read, and then throws', async () => {
    const nightly = defineWorkflow({ name: 'nightly', run: async () => null });
    const world = aWorld([nightly]);
    const app = defineApp({
      workflows: [nightly],
      schedules: [{ name: 'each-minute', workflow: nightly, every: { minutes: 1 } }],
    });
    const deps = { ...world.deps, app };
    world.deps.store.lists.due = async () => {
      throw new EngineError('STORE_UNAVAILABLE', 'throttled');
    };
    await expect(scheduleHandler(() => deps)(scheduled)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(world.queues.turn.receive(10)).toHaveLength(1);
  });

  it('F86 sweeps what is due when no schedule can be read', async () => {
    const world = aWorld();
    const runId = await aRun(world);
    const [lost] = world.queues.turn.receive(1);
    world.queues.turn.deleteMessage(lost!.receiptHandle);
    const nightly = defineWorkflow({ name: 'nightly', run: async () => null });
    const schedules = [{ name: 'each-minute', workflow: nightly, every: { minutes: 1 } }];
    const deps = { ...world.deps, app: defineApp({ workflows: [nightly], schedules }) };
    world.deps.store.schedules.read = async () => {
      throw new EngineError('STORE_UNAVAILABLE', 'throttled');
    };
    await scheduleHandler(() => deps)(scheduled);
    expect(world.queues.turn.receive(1)[0]).toMatchObject({ groupId: runId });
  });

  it('throws when the store does not answer, so that the event is repeated', async () => {
    const world = aWorld();
    world.fault = new EngineError('STORE_UNAVAILABLE', 'throttled');
    await expect(scheduleHandler(() => world.deps)(scheduled)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });
});

describe('dependencies', () => {
  it('are made once, and again only after a failure', () => {
    let calls = 0;
    const getDeps = once(() => {
      calls += 1;
      if (calls === 1) throw new Error('cold start failed');
      return {};
    });
    expect(getDeps).toThrow('cold start failed');
    expect(getDeps()).toBe(getDeps());
    expect(calls).toBe(2);
  });
});
