import { readdirSync } from 'node:fs';
import { a2aAgent, defineApp, mcpServer } from 'outwait';
import { createTestApp, scriptedServer, type ScriptedTask } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { order } from '../../examples/features/changes.js';
import { regionReport, worldReport } from '../../examples/features/children.js';
import { mailbox } from '../../examples/features/continue-as-new.js';
import { quarterEnd } from '../../examples/features/inputs.js';
import { checkout } from '../../examples/features/queries.js';
import { fastestQuote } from '../../examples/features/races.js';
import { trip } from '../../examples/features/sagas.js';
import { search } from '../../examples/features/scopes.js';
import { approval } from '../../examples/features/signals.js';
import { buildIndex } from '../../examples/features/long-steps.js';
import { importRows } from '../../examples/features/steps.js';
import { payment } from '../../examples/features/tokens.js';
import type { AnyWorkflow } from '../../lib/workflow/define-workflow.js';

/** The workflows of an example, with servers that do as told. */
function appWith(workflows: readonly AnyWorkflow[], tasks: Readonly<Record<string, ScriptedTask>> = {}) {
  const reports = scriptedServer({ protocol: 'mcp', task: () => tasks['reports'] ?? {} });
  const supplier = scriptedServer({ protocol: 'a2a', task: () => tasks['supplier'] ?? {} });
  const otherSupplier = scriptedServer({ protocol: 'a2a', task: () => tasks['otherSupplier'] ?? {} });
  const config = defineApp({
    workflows,
    servers: {
      reports: mcpServer({ url: 'https://reports.example.com/mcp' }),
      supplier: a2aAgent({ url: 'https://supplier.example.com/a2a' }),
      otherSupplier: a2aAgent({ url: 'https://other.example.com/a2a' }),
    },
  });
  return { app: createTestApp(config, { servers: { reports, supplier, otherSupplier } }), reports, supplier };
}

/** Each runs as it stands in the documentation. */
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

  example('children', 'sums what its children count', async () => {
    const { app } = appWith([worldReport, regionReport]);
    const runId = await app.start(worldReport, { regions: ['emea', 'apac', 'na', 'latam', 'x'] });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 4 + 4 + 2 + 5 + 1 });
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

  example('sagas', 'books all of it', async () => {
    const { app } = appWith([trip]);
    const runId = await app.start(trip);
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: ['flight 7', 'room 12'] });
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

  it('are all run here', () => {
    expect([...ran].sort()).toEqual(readdirSync(new URL('../../examples/features/', import.meta.url)).sort());
  });
});
