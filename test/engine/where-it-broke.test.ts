import { defineApp, defineWorkflow, type WorkflowContext } from 'outwait';
import { createTestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lib/base/json.js';
import { type Log, silentLog } from '../../lib/base/log.js';

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly name?: string;
  readonly details: JsonObject & { readonly at: string };
}

const here = `${import.meta.filename}:`;

async function failureOf(run: (ctx: WorkflowContext) => Promise<unknown>) {
  const lines: JsonObject[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void lines.push({ event, ...(fields as JsonObject) }) };
  const flow = defineWorkflow({ name: 'flow', run });
  const app = createTestApp(defineApp({ workflows: [flow] }), { log });
  const outcome = await app.runToEnd(await app.start(flow));
  if (outcome.status !== 'failed') throw new Error(`the run ${outcome.status}`);
  return { error: outcome.error as unknown as Failure, lines };
}

const once = { retry: { maxAttempts: 1 } };
const broken = (): never => (undefined as unknown as { readonly x: never }).x;

class OutOfStock extends Error {
  override readonly name = 'OutOfStock';
  readonly sku = 'A-7';
  readonly left = 0;
  readonly tried = ['north', 'south'];
  readonly apiToken = 'secret-1';
  readonly request = { headers: { authorization: 'secret-2' } };
}

describe('the error of a step that failed (F29)', () => {
  it('says where, of which class, and after how many attempts', async () => {
    const { error } = await failureOf((ctx) => ctx.step('charge', broken, { retry: { maxAttempts: 2 } }));
    expect(error).toMatchObject({
      code: 'STEP_FAILED',
      message: 'step "charge" failed: Cannot read properties of undefined (reading \'x\')',
      details: { step: 'charge', attempts: 2, name: 'TypeError' },
    });
    expect(error.details.at).toContain(here);
  });

  it('has the fields that are plain values, and neither secrets nor objects that may hold them', async () => {
    const { error } = await failureOf((ctx) =>
      ctx.step('pick', () => Promise.reject(new OutOfStock('none left', { cause: new RangeError('0') })), once),
    );
    expect(error.details).toMatchObject({
      name: 'OutOfStock',
      fields: { sku: 'A-7', left: 0, tried: ['north', 'south'] },
      cause: { name: 'RangeError', message: '0' },
    });
    expect(JSON.stringify(error)).not.toContain('secret');
  });

  it('has the parts of an AggregateError', async () => {
    const { error } = await failureOf((ctx) =>
      ctx.step('all', () => Promise.any([Promise.reject(new TypeError('a')), Promise.reject(new Error('b'))]), once),
    );
    expect(error.details['errors']).toEqual([{ name: 'TypeError', message: 'a' }, { message: 'b' }]);
  });

  it('shows an object that is thrown', async () => {
    const { error } = await failureOf((ctx) =>
      ctx.step(
        's',
        () => {
          // eslint-disable-next-line @typescript-eslint/only-throw-error
          throw { code: 7 };
        },
        once,
      ),
    );
    expect(error).toMatchObject({ message: 'step "s" failed: thrown: {"code":7}', details: { fields: { code: 7 } } });
  });

  it('reaches the workflow that catches it', async () => {
    let caught: unknown;
    await failureOf(async (ctx) => {
      await ctx
        .step('pick', () => Promise.reject(new OutOfStock('none')), once)
        .catch((reason: unknown) => {
          caught = (reason as { details: unknown }).details;
        });
      throw new Error('end');
    });
    expect(caught).toMatchObject({ step: 'pick', attempts: 1, name: 'OutOfStock', fields: { sku: 'A-7' } });
  });

  it('is logged with its stack, once for each attempt', async () => {
    const { lines } = await failureOf((ctx) => ctx.step('charge', broken, { retry: { maxAttempts: 3 } }));
    const failed = lines.filter(({ step }) => step === 'charge');
    expect(failed).toMatchObject([
      { event: 'step attempt failed', workflow: 'flow', attempt: 1, retryInMs: 1_000 },
      { event: 'step attempt failed', attempt: 2 },
      { event: 'step failed', attempt: 3 },
    ]);
    for (const { error } of failed) expect((error as unknown as Error).stack).toContain(here);
  });
});

describe('the error of a workflow that failed (F29)', () => {
  it('says where, and what it has beside its message', async () => {
    const { error } = await failureOf(async () => {
      throw new OutOfStock('none', { cause: { code: 7 } });
    });
    expect(error).toMatchObject({
      code: 'WORKFLOW_FAILED',
      name: 'OutOfStock',
      message: 'none',
      details: { fields: { sku: 'A-7' }, cause: { message: 'thrown: {"code":7}' } },
    });
    expect(error.details.at).toContain(here);
  });

  it('is bounded, however deep, wide and long it is', async () => {
    const { error } = await failureOf(async () => {
      let cause = new Error('root');
      for (let depth = 0; depth < 50; depth++)
        cause = new AggregateError(
          Array.from({ length: 20 }, () => cause),
          'x'.repeat(100_000),
          { cause },
        );
      throw Object.assign(
        cause,
        Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`field${at}`, 'y'.repeat(9_999)])),
      );
    });
    expect(JSON.stringify(error.details).length).toBeLessThan(64 * 1024);
  });

  it('is that of an object that cannot be read', async () => {
    const odd = Object.assign(new Error('odd'), {});
    Object.defineProperty(odd, 'sku', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    const { error } = await failureOf(async () => {
      throw odd;
    });
    expect(error).toMatchObject({ message: 'odd' });
  });
});
