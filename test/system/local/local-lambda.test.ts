import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LocalLambda } from '../../../lib/local/local-lambda.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the local Lambda', () => {
  it('tells a handler how much of its time is left', async () => {
    const lambda = new LocalLambda();
    const left = await lambda.invoke('turn', async (context) => {
      const before = context.getRemainingTimeInMillis();
      vi.advanceTimersByTime(10_000);
      return [before, context.getRemainingTimeInMillis()];
    });
    expect(left).toEqual([60_000, 50_000]);
  });

  it('passes on results and errors, and counts invocations, failures and time', async () => {
    const lambda = new LocalLambda();
    await lambda.invoke('poll', async () => {
      vi.advanceTimersByTime(30);
    });
    await expect(lambda.invoke('poll', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(lambda.stats().poll).toEqual({ invocations: 2, failures: 1, busyMs: 30 });
    expect(lambda.stats().turn).toEqual({ invocations: 0, failures: 0, busyMs: 0 });
  });

  it('fails an invocation that takes longer than its function may', async () => {
    const lambda = new LocalLambda();
    const invocation = lambda.invoke('turn', () => new Promise(() => undefined));
    const failed = expect(invocation).rejects.toThrow('the turn function took longer than 60000 ms');
    await vi.advanceTimersByTimeAsync(60_000);
    await failed;
    expect(lambda.stats().turn).toMatchObject({ invocations: 1, failures: 1 });
  });

  it('is idle when nothing is in flight, or when it has waited long enough', async () => {
    const lambda = new LocalLambda();
    await lambda.idle(1_000);
    let end: () => void = () => undefined;
    const invocation = lambda.invoke(
      'turn',
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    const seen: string[] = [];
    const impatient = lambda.idle(1_000).then(() => seen.push('gave up'));
    const patient = lambda.idle(10_000).then(() => seen.push('idle'));
    await vi.advanceTimersByTimeAsync(1_000);
    await impatient;
    expect(seen).toEqual(['gave up']);
    end();
    await Promise.all([invocation, patient]);
    expect(seen).toEqual(['gave up', 'idle']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
