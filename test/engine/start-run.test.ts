import { defineApp, defineWorkflow } from 'outwait';
import { createTestApp, type TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startRun } from '../../lib/operations/requests/start-run.js';

const order = z.object({
  customer: z.string(),
  lines: z.array(z.object({ price: z.number().positive() })).default([]),
});

function anApp(): { app: TestApp; validations: () => number } {
  let validations = 0;
  const counted = z.unknown().transform((value, issues) => {
    validations++;
    const parsed = order.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues) issues.addIssue({ code: 'custom', path, message });
    return z.NEVER;
  });
  const billing = defineWorkflow({ name: 'billing', input: counted, run: async (_, input) => input });
  const free = defineWorkflow({ name: 'free', run: async (_, input) => input ?? 'no input' });
  return { app: createTestApp(defineApp({ workflows: [billing, free] })), validations: () => validations };
}

const good = { customer: 'Ada' };

describe('a start without a key', () => {
  it('is a new run each time', async () => {
    const { app } = anApp();
    const first = await startRun(app.deps, { workflow: 'billing', input: good });
    const second = await startRun(app.deps, { workflow: 'billing', input: good });
    expect([first.deduplicated, second.deduplicated]).toEqual([false, false]);
    expect(second.runId).not.toBe(first.runId);
    expect(first.runId).toMatch(/^[0-9a-f]{32}$/);
  });

  it('gives the workflow what its schema made of the input', async () => {
    const { app } = anApp();
    const { runId } = await startRun(app.deps, { workflow: 'billing', input: good });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: { customer: 'Ada', lines: [] } });
    expect((await app.show(runId)).input).toEqual({ customer: 'Ada', lines: [] });
  });

  it('may have no input where the workflow takes any', async () => {
    const { app } = anApp();
    const { runId } = await startRun(app.deps, { workflow: 'free' });
    expect(await app.runToEnd(runId)).toEqual({ status: 'completed', result: 'no input' });
  });
});

describe('a start with a key (S0-160, EN-8)', () => {
  it('that is known is the same run, and the schema is not asked again (S0-161)', async () => {
    const { app, validations } = anApp();
    const first = await startRun(app.deps, { workflow: 'billing', input: good, key: 'order-1' });
    const again = await startRun(app.deps, { workflow: 'billing', input: good, key: 'order-1' });
    expect(first.deduplicated).toBe(false);
    expect(again).toEqual({ runId: first.runId, deduplicated: true });
    expect(validations()).toBe(1);
  });

  it('is the same run also after that has ended', async () => {
    const { app } = anApp();
    const first = await startRun(app.deps, { workflow: 'free', input: 1, key: 'k' });
    await app.runToEnd(first.runId);
    expect(await startRun(app.deps, { workflow: 'free', input: 1, key: 'k' })).toEqual({
      runId: first.runId,
      deduplicated: true,
    });
    expect((await app.show(first.runId)).outcome).toEqual({ status: 'completed', result: 1 });
  });

  it('is one run when twenty come at once', async () => {
    const { app } = anApp();
    const starts = await Promise.all(
      Array.from({ length: 20 }, async () => startRun(app.deps, { workflow: 'free', key: 'k' })),
    );
    expect(new Set(starts.map(({ runId }) => runId)).size).toBe(1);
    expect(starts.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
  });

  it('belongs to its workflow: another workflow may use it too (B024)', async () => {
    const { app } = anApp();
    const first = await startRun(app.deps, { workflow: 'billing', input: good, key: 'k' });
    const other = await startRun(app.deps, { workflow: 'free', input: 1, key: 'k' });
    expect(other.deduplicated).toBe(false);
    expect(other.runId).not.toBe(first.runId);
  });

  it.each([
    ['', 0],
    ['é'.repeat(128), 256],
  ])('of a bad length is refused: %#', async (key, bytes) => {
    const { app } = anApp();
    await expect(startRun(app.deps, { workflow: 'free', key })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: `an idempotency key must be 1 to 255 bytes, got ${bytes}`,
    });
  });

  it('may be 255 bytes long', async () => {
    const { app } = anApp();
    expect(await startRun(app.deps, { workflow: 'free', key: 'k'.repeat(255) })).toMatchObject({ deduplicated: false });
  });
});

describe('a start that is refused', () => {
  it('says which parts of the input are wrong', async () => {
    const { app } = anApp();
    const input = { lines: [{ price: 1 }, { price: -1 }] };
    const refused = startRun(app.deps, { workflow: 'billing', input, key: 'k' });
    await expect(refused).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(
        /^the input of workflow "billing" is not valid: customer: .*; lines\.1\.price: /,
      ) as unknown,
      details: { issues: [{ path: 'customer' }, { path: 'lines.1.price' }] },
    });
    // Nothing was stored, so the same key may be used with a corrected input.
    expect(await startRun(app.deps, { workflow: 'billing', input: good, key: 'k' })).toMatchObject({
      deduplicated: false,
    });
  });

  it('names the workflows that there are', async () => {
    const { app } = anApp();
    await expect(startRun(app.deps, { workflow: 'biling' })).rejects.toMatchObject({
      code: 'WORKFLOW_NOT_FOUND',
      message: 'no workflow is named "biling"; known workflows: billing, free',
    });
  });

  it('names size and limit of an input over 2 MiB', async () => {
    const { app } = anApp();
    await expect(startRun(app.deps, { workflow: 'free', input: 'x'.repeat(2_097_151) })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { sizeBytes: 2_097_153, limitBytes: 2_097_152 },
    });
  });

  it('when its schema gives something that JSON cannot hold', async () => {
    const odd = defineWorkflow({ name: 'odd', input: z.string().transform(BigInt), run: async () => 1 });
    const app = createTestApp(defineApp({ workflows: [odd] }));
    await expect(startRun(app.deps, { workflow: 'odd', input: '7' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});

it('a run that does not exist cannot be shown', async () => {
  const { app } = anApp();
  for (const runId of ['f'.repeat(32), 'x', '../a', '']) {
    await expect(app.show(runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND', message: 'no run has this id' });
  }
});
