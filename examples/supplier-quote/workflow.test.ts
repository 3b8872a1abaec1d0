import { createTestApp, scriptedServer } from 'outwait/testing';
import type { ScriptedServer, ScriptedTask, TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import config from '../outwait.config.js';
import { supplierQuote } from './workflow.js';

/** Creates the workflow with a scripted supplier, on a clock that skips the waiting. */
function appWith(task: ScriptedTask): { app: TestApp; supplier: ScriptedServer } {
  const supplier = scriptedServer({ protocol: 'a2a', task: () => task });
  return { app: createTestApp(config, { servers: { supplier } }), supplier };
}

/** An A2A task that holds the quote in an artifact. */
const quoteOf = (totalCents: number) => ({
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts: [{ artifactId: 'quote', parts: [{ data: { totalCents, currency: 'EUR' } }] }],
});

const order = { article: 'bolt', quantity: 200, budgetCents: 50_000 };

describe('supplierQuote', () => {
  it.each([
    [50_000, 'within budget'],
    [50_001, 'too dear'],
  ])('waits a day for a quote of %i and finds it %s', async (totalCents, status) => {
    const { app } = appWith({ after: { days: 1 }, result: quoteOf(totalCents) });
    const runId = await app.start(supplierQuote, order);

    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'completed',
      result: { status, totalCents, currency: 'EUR' },
    });
  });

  it('asks once, with the reference that is in its result', async () => {
    const { app, supplier } = appWith({ after: { days: 1 }, result: quoteOf(45_000) });
    const outcome = await app.runToEnd(await app.start(supplierQuote, order));

    expect(supplier.starts).toHaveLength(1);
    const { request } = supplier.starts[0]!;
    const reference = request.kind === 'skill' ? (request.arguments as { reference: string }).reference : '';
    expect(reference).toMatch(/^RFQ-\d{6}$/);
    expect(request).toEqual({
      kind: 'skill',
      skill: 'quote',
      arguments: { reference, article: 'bolt', quantity: 200 },
    });
    expect(outcome).toMatchObject({ result: { reference } });
  });

  it('fails when the supplier does', async () => {
    const { app } = appWith({ after: { hours: 1 }, failure: 'price list is gone' });
    const runId = await app.start(supplierQuote, order);

    expect(await app.runToEnd(runId)).toMatchObject({
      status: 'failed',
      error: { code: 'REMOTE_TASK_FAILED', message: 'remote task failed: price list is gone' },
    });
  });

  it('fails after two days without a quote', async () => {
    const { app } = appWith({ never: true });
    const runId = await app.start(supplierQuote, order);

    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    const { createdAtMs, endedAtMs = 0 } = await app.show(runId);
    expect(Math.floor((endedAtMs - createdAtMs) / 3_600_000)).toBe(48);
  });
});
