import { describe, expect, it } from 'vitest';
import { blockedRetryAtMs, waitDueAtMs } from '../../../lib/decide/deadline.js';

describe('a wait is due', () => {
  const remote = {
    kind: 'remoteTask',
    waitId: '1',
    server: 's',
    name: 't',
    requestedAtMs: 0,
    deadlineAtMs: 100,
    failedAttempts: 0,
    watch: false,
    rounds: 0,
    asked: new Map(),
    answers: new Map(),
  } as const;

  it('when its timer fires', () => {
    expect(waitDueAtMs({ kind: 'timer', waitId: '1', name: 'sleep', requestedAtMs: 0, firesAtMs: 60 })).toBe(60);
  });

  it('when its next attempt is due', () => {
    const step = {
      kind: 'step',
      waitId: '1',
      name: 'a',
      requestedAtMs: 0,
      failedAttempts: 1,
      begun: 0,
      interrupted: 0,
    } as const;
    expect(waitDueAtMs({ ...step, retryAtMs: 70 })).toBe(70);
    expect(waitDueAtMs(step)).toBeUndefined();
  });

  it('at its next start, at its deadline at the latest', () => {
    expect(waitDueAtMs({ ...remote, retryAtMs: 70 })).toBe(70);
    expect(waitDueAtMs({ ...remote, retryAtMs: 170 })).toBe(100);
  });

  it('at its deadline while it waits for answers before it starts', () => {
    expect(waitDueAtMs({ ...remote, rounds: 1 })).toBe(100);
  });

  it('by its token while its remote task runs', () => {
    expect(waitDueAtMs(remote)).toBeUndefined();
  });
});

describe('a blocked run is retried', () => {
  it.each([
    [0, 60_000],
    [59_000, 60_000],
    [120_000, 120_000],
    [3_600_000, 3_600_000],
    [864_000_000, 3_600_000],
  ])('when it has been stuck for %i ms, after %i ms', (stuckMs, waitMs) => {
    expect(blockedRetryAtMs(1_000, 1_000 + stuckMs)).toBe(1_000 + stuckMs + waitMs);
  });
});
