import type { Tracer } from '@opentelemetry/api';
import { readdirSync } from 'node:fs';
import { a2aAgent, defineApp, defineWorkflow, mcpServer } from 'outwait';
import { createTestApp, scriptedServer, type ScriptedTask, signedDelivery } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import agentsApp, { translate } from '../../../examples/features/agents.js';
import { order } from '../../../examples/features/changes.js';
import { regionReport, worldReport } from '../../../examples/features/children.js';
import { orders, reminder } from '../../../examples/features/other-runs.js';
import { mailbox } from '../../../examples/features/continue-as-new.js';
import hooksApp from '../../../examples/features/hooks.js';
import { quarterEnd } from '../../../examples/features/inputs.js';
import { checkout } from '../../../examples/features/queries.js';
import jobsApp, { exportRows } from '../../../examples/features/jobs.js';
import { ticketHandler } from '../../../examples/features/lifecycle-events.js';
import limitsApp, { book, index, letter } from '../../../examples/features/limits.js';
import { nightly } from '../../../examples/features/progress.js';
import { fastestQuote } from '../../../examples/features/races.js';
import { follow } from '../../../examples/features/remote-attach.js';
import { monthEnd } from '../../../examples/features/remote-ends.js';
import { exportOnce } from '../../../examples/features/remote-keys.js';
import { nightlyIndex } from '../../../examples/features/remote-policies.js';
import { invoicedExport } from '../../../examples/features/run-info.js';
import { trip } from '../../../examples/features/sagas.js';
import { search } from '../../../examples/features/scopes.js';
import schedulesApp from '../../../examples/features/schedules.js';
import serversApp, { exportMonth } from '../../../examples/features/servers.js';
import { approval } from '../../../examples/features/signals.js';
import { buildIndex } from '../../../examples/features/long-steps.js';
import { twoQuotes } from '../../../examples/features/some.js';
import { importRows } from '../../../examples/features/steps.js';
import { payment } from '../../../examples/features/tokens.js';
import { createTracing } from '../../../examples/features/tracing.js';
import versionsApp, { appInMay, order as versionedOrder } from '../../../examples/features/versions.js';
import { listRuns } from '../../../lib/operations/views/list-runs.js';
import type { AnyWorkflow } from '../../../lib/workflow/define-workflow.js';

/** Creates an app with the workflows of an example and with scripted servers. */
function appWith(workflows: readonly AnyWorkflow[], tasks: Readonly<Record<string, ScriptedTask>> = {}) {
  const reports = scriptedServer({ protocol: 'mcp', task: () => tasks['reports'] ?? {} });
  const supplier = scriptedServer({ protocol: 'a2a', task: () => tasks['supplier'] ?? {} });
  const thirdSupplier = scriptedServer({ protocol: 'a2a', task: () => tasks['thirdSupplier'] ?? {} });
  const otherSupplier = scriptedServer({ protocol: 'a2a', task: () => tasks['otherSupplier'] ?? {} });
  const config = defineApp({
    workflows,
    servers: {
      reports: mcpServer({ url: 'https://reports.example.com/mcp' }),
      supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }),
      otherSupplier: a2aAgent({ url: 'https://other.example.com/a2a' }),
      thirdSupplier: a2aAgent({ url: 'https://third.example.com/a2a' }),
    },
  });
  return {
    app: createTestApp(config, { servers: { reports, supplier, otherSupplier, thirdSupplier } }),
    reports,
    supplier,
  };
}

/** Runs each example as it stands in the documentation. */
const ran = new Set<string>();
function example(name: string, behaviour: string, test: () => Promise<void>): void {
  ran.add(`${name}.ts`);
  it(`${name}: ${behaviour}`, test);
}

describe('the examples of docs/workflows.md', () => {
  example('changes', 'takes the new path, and ships three days later', async () => {
    const { app } = appWith([order]);
    const runId = await app.start(order);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'shipped' });
    const { events } = await app.history(runId);
    expect(events.some((event) => event.type === 'PatchRecorded' && event.patchId === 'check-stock')).toBe(true);
  });

  example('versions', 'ends a run of May as it was begun, and a new one as orders are now', async () => {
    const app = createTestApp(appInMay);
    const inMay = await app.start(versionedOrder);
    await app.pass({ days: 1 });
    app.deploy(versionsApp);
    const now = await app.start(versionedOrder);
    expect(await app.runToEnd(inMay)).toEqual({ status: 'completed', result: 'shipped by post' });
    expect(await app.runToEnd(now)).toEqual({ status: 'completed', result: 'shipped by bicycle' });
  });

  example('remote-ends', 'calls a task that fails three times, and says so', async () => {
    const { app, reports } = appWith([monthEnd], { reports: { after: { hours: 1 }, failure: 'disk full' } });
    expect(await app.runToEnd(await app.start(monthEnd))).toEqual({ status: 'completed', result: 'failed 3 times' });
    expect(reports.starts).toHaveLength(3);
    const refusing = appWith([monthEnd], {
      reports: { isError: true, result: { content: [{ type: 'text', text: 'no quota' }] } },
    });
    expect(await refusing.app.runToEnd(await refusing.app.start(monthEnd))).toEqual({
      status: 'completed',
      result: 'refused at the start: no quota',
    });
  });

  example('remote-policies', 'leaves the index to itself after an hour', async () => {
    const { app, reports } = appWith([nightlyIndex], { reports: { after: { hours: 3 } } });
    const runId = await app.start(nightlyIndex);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'not done yet' });
    expect(reports.cancels).toBe(0);
    expect((await app.deps.store.lists.orphans(10)).rows).toEqual([{ runId, waitId: '1' }]);
  });

  example('remote-attach', 'waits for a task that it has not started', async () => {
    const { app, reports } = appWith([follow]);
    reports.begin('export-7', { after: { hours: 1 }, result: 'rows' });
    const runId = await app.start(follow, { taskId: 'export-7' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(reports.starts).toEqual([]);
  });

  example('remote-keys', 'makes one task of two runs', async () => {
    const result = { content: [{ type: 'text', text: 'rows' }] };
    const { app, reports } = appWith([exportOnce], { reports: { after: { hours: 1 }, result } });
    const runs = [await app.start(exportOnce, { month: '2026-10' }), await app.start(exportOnce, { month: '2026-10' })];
    for (const runId of runs) expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'rows' });
    expect(new Set(reports.starts.map(({ key }) => key))).toEqual(new Set(['export/2026-10']));
  });

  example('agents', 'configures agents by their cards', async () => {
    const artifacts = [{ artifactId: 'translation', parts: [{ text: 'bonjour' }] }];
    const translator = scriptedServer({ protocol: 'a2a', task: () => ({ result: { artifacts } }) });
    const config = defineApp({ workflows: [translate], servers: { translator: agentsApp.servers['translator']! } });
    const app = createTestApp(config, { servers: { translator } });
    const runId = await app.start(translate, { text: 'good day' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: artifacts });
  });

  example('servers', 'configures credentials and limits', async () => {
    const { app } = appWith([exportMonth], { reports: { after: { hours: 1 }, result: 'report' } });
    const runId = await app.start(exportMonth, { month: '2026-10' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'report' });
    expect(Object.keys(serversApp.servers)).toEqual(['reports', 'supplier', 'internal']);
  });

  example('jobs', 'gives the result of a job that tools tell of', async () => {
    const task = { after: { hours: 1 }, result: { content: [], structuredContent: { rows: 412 } } };
    const warehouse = scriptedServer({ protocol: 'mcp', task: () => task });
    const app = createTestApp(jobsApp, { servers: { warehouse } });
    const runId = await app.start(exportRows, { month: '2026-10' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { rows: 412 } });
  });

  example('children', 'sums what its children count', async () => {
    const { app } = appWith([worldReport, regionReport]);
    const runId = await app.start(worldReport, { regions: ['emea', 'apac', 'na', 'latam', 'x'] });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 4 + 4 + 2 + 5 + 1 });
  });

  example('other-runs', 'stops the reminder of an order that is paid in time', async () => {
    const { app } = appWith([orders, reminder]);
    const paid = await app.start(orders, { order: 'o-7' });
    await app.pass({ days: 1 });
    await app.signal(paid, 'paid');
    expect(await app.runToEnd(paid)).toEqual({ status: 'completed', result: { paid: true, wasInTime: true } });
    const late = await app.start(orders, { order: 'o-8' });
    expect(await app.runToEnd(late)).toEqual({ status: 'completed', result: { paid: false, wasInTime: false } });
    expect((await app.list({ workflow: 'reminder' })).map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  example('continue-as-new', 'handles each mail once', async () => {
    const { app } = appWith([mailbox]);
    const runId = await app.start(mailbox, { handled: 0 });
    await app.signal(runId, 'mail', 'a');
    await app.signal(runId, 'mail', 'b');
    await app.settleDown();
    const { events } = await app.history(runId);
    expect(events.filter(({ type }) => type === 'StepCompleted')).toHaveLength(2);
  });

  example('hooks', 'starts a review for a pull request, and tells it how that was closed', async () => {
    const app = createTestApp(hooksApp, {
      secrets: { GITHUB_SECRET: 'canary-new', FORMER_GITHUB_SECRET: 'canary-former' },
    });
    const body = (action: string, merged: boolean) => ({ action, number: 7, pull_request: { merged } });
    expect(await app.deliver('opened', { body: body('edited', false) })).toEqual({ outcome: 'ignored' });
    const started = await app.deliver('opened', { body: body('opened', false) });
    expect(await app.deliver('opened', { body: body('opened', false) })).toEqual({ ...started, outcome: 'known' });
    const text = JSON.stringify(body('closed', true));
    const delivery = signedDelivery('github', { secret: 'canary-former', body: text, atMs: app.clock.nowMs() });
    const signalled = await app.receive('closed', delivery);
    expect(signalled).toEqual({ ...started, outcome: 'signalled' });
    const runId = 'runId' in started ? started.runId : '';
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { merged: true } });
  });

  example('progress', 'shows how far the task of a call is', async () => {
    const states = [
      { from: { seconds: 0 }, state: 'working' },
      { from: { minutes: 2 }, state: 'working', message: 'counting', progress: 1, total: 4 },
    ];
    const { app } = appWith([nightly], { reports: { after: { minutes: 10 }, result: 'exported', states } });
    const runId = await app.start(nightly, null);
    await app.pass({ minutes: 1 });
    expect((await app.show(runId)).progress).toEqual({ state: 'working', message: '', done: 0 });
    await app.pass({ minutes: 4 });
    expect((await app.show(runId)).progress).toEqual({ state: 'working', message: 'counting', done: 0.25 });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'exported' });
  });

  example('inputs', 'answers by itself, and asks people for the rest', async () => {
    const { app, reports, supplier } = appWith([quarterEnd], {
      supplier: { asks: [{ message: 'Which cost centre?' }], result: 'quoted' },
      reports: { asks: [{ message: 'Send it?' }], result: 'sent' },
    });
    const runId = await app.start(quarterEnd);
    await app.pass({ minutes: 30 });
    expect(supplier.answers).toMatchObject([{ answer: { action: 'accept', content: { costCentre: '4711' } } }]);
    const [send] = await app.inputs();
    expect(send?.message).toBe('Send it?');
    await app.answer(send?.inputId ?? '', { action: 'accept', content: {} });
    await app.pass({ minutes: 30 });
    expect(reports.answers).toHaveLength(1);
    const [close] = await app.inputs();
    await app.answer(close?.inputId ?? '', { action: 'accept' });
    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: { quote: 'quoted', sent: 'sent', closed: true },
    });
  });

  example('lifecycle-events', 'opens one ticket for a run that fails, however often it is told', async () => {
    const failing = defineWorkflow({
      name: 'failing',
      run: async () => {
        throw new Error('no money');
      },
    });
    const app = createTestApp(defineApp({ workflows: [failing] }), { bus: true });
    const runId = await app.start(failing);
    await app.runToEnd(runId);
    const tickets = new Map<string, string>();
    const handle = ticketHandler({
      open: async ({ id, title }) => {
        if (!tickets.has(id)) tickets.set(id, title);
      },
    });
    for (const detail of [...app.lifecycleEvents(), ...app.lifecycleEvents()]) await handle({ detail });
    expect([...tickets.values()]).toEqual([`failing ${runId} failed: WORKFLOW_FAILED`]);
  });

  example('queries', 'says what is in the basket', async () => {
    const { app } = appWith([checkout]);
    const runId = await app.start(checkout);
    for (const item of ['tea', 'milk']) await app.signal(runId, 'add', item);
    await app.settleDown();
    expect(await app.query(runId, 'items')).toEqual(['tea', 'milk']);
    expect((await app.show(runId)).progress).toEqual({ items: 2, of: 3 });
    await app.signal(runId, 'add', 'jam');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['tea', 'milk', 'jam'] });
  });

  example('races', 'takes the quote that comes first, and cancels the other', async () => {
    const tasks = { supplier: { after: { hours: 5 } }, otherSupplier: { after: { hours: 2 }, result: 'cheap' } };
    const { app, supplier } = appWith([fastestQuote], tasks);
    const runId = await app.start(fastestQuote);
    expect(await app.runToEnd(runId)).toMatchObject({ status: 'completed', result: { result: 'cheap' } });
    expect(supplier.cancels).toBe(1);
  });

  example('run-info', 'bills under the key that the server was sent', async () => {
    const { app, reports } = appWith([invoicedExport], { reports: { result: {} } });
    const runId = await app.start(invoicedExport, undefined, { tags: { customer: 'north' } });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'exported' });
    const { events } = await app.history(runId);
    const bill = events.find((event) => event.type === 'StepCompleted');
    expect(bill).toMatchObject({ result: { key: reports.starts[0]?.key, customer: 'north' } });
  });

  example('some', 'takes the first two quotes, and cancels the third', async () => {
    const tasks = { supplier: { after: { hours: 5 } }, thirdSupplier: { after: { hours: 2 } } };
    const { app, supplier } = appWith([twoQuotes], tasks);
    const runId = await app.start(twoQuotes);
    const outcome = await app.runToEnd(runId);
    expect(outcome).toEqual({ status: 'completed', result: ['otherSupplier', 'thirdSupplier'] });
    expect(supplier.cancels).toBe(1);
  });

  example('sagas', 'books all of it', async () => {
    const { app } = appWith([trip]);
    const runId = await app.start(trip);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['flight 7', 'room 12'] });
  });

  example('schedules', 'starts the report of the night, ten minutes after two at the latest', async () => {
    const app = createTestApp(schedulesApp, { schedules: true });
    await app.pass({ days: 1 });
    const { runs } = await listRuns(app.deps, { limit: 10 });
    expect(runs).toMatchObject([
      { workflow: 'nightlyReport', status: 'completed', tags: { schedule: 'report-north' } },
    ]);
  });

  example('scopes', 'keeps the first find', async () => {
    const { app } = appWith([search], { reports: { after: { minutes: 1 }, result: 'found' } });
    const runId = await app.start(search);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'found' });
  });

  example('signals', 'waits for an approval, not for a refusal', async () => {
    const { app } = appWith([approval]);
    const runId = await app.start(approval);
    await app.signal(runId, 'decision', { approved: false, by: 'Ann' });
    await app.signal(runId, 'decision', { approved: true, by: 'Bob' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'approved by Bob' });
  });

  example('steps', 'imports all rows', async () => {
    const { app } = appWith([importRows]);
    const runId = await app.start(importRows);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 1_000 });
  });

  example('long-steps', 'indexes all pages', async () => {
    const { app } = appWith([buildIndex]);
    const runId = await app.start(buildIndex);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 500 });
  });

  example('tokens', 'is settled by the bank', async () => {
    const { app } = appWith([payment]);
    const runId = await app.start(payment);
    await app.settleDown();
    await app.settle(await app.tokenOf(runId, 'bank'), 'paid');
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'paid' });
  });

  example('limits', 'books in order, prints, and makes one index of many changes', async () => {
    const app = createTestApp(limitsApp);
    const order = { customer: 'acme', lines: ['gear'] };
    const first = await app.start(book, order);
    const second = await app.start(book, { ...order, lines: ['gear', 'belt'] });
    expect(await app.runToEnd(second)).toEqual({ status: 'completed', result: 2 });
    expect(await app.runToEnd(first)).toEqual({ status: 'completed', result: 1 });
    expect(await app.runToEnd(await app.start(letter, order))).toEqual({ status: 'completed', result: 'to acme' });
    const indexed = await app.start(index, order);
    expect(await app.start(index, order)).toBe(indexed);
    expect(await app.runToEnd(indexed)).toEqual({ status: 'completed', result: 'of acme' });
  });

  example('tracing', 'gives a provider that makes spans with the ids of the engine', async () => {
    const idGenerator = { generateTraceId: () => 'a'.repeat(32), generateSpanId: () => 'b'.repeat(16) };
    const { provider } = createTracing({ idGenerator });
    const tracer = provider.getTracer('test') as Tracer;
    const { traceId, spanId } = tracer.startSpan('a turn').spanContext();
    expect([traceId, spanId]).toEqual(['a'.repeat(32), 'b'.repeat(16)]);
  });

  it('are all run here, but for those of docs/serving.md', () => {
    const names = readdirSync(new URL('../../../examples/features/', import.meta.url));
    expect([...ran].sort()).toEqual(names.filter((name) => !name.startsWith('served')).sort());
  });
});
