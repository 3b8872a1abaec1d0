import { describe, expect, it } from 'vitest';
import { functions, queues } from '../../../lib/topology/topology.js';
import { longStepReserveMs, startPatienceMs, startTakeMs } from '../../../lib/base/limits.js';
import { longStepTimeoutMaxMs } from '../../../lib/replay/context/step-policy.js';

describe('the topology', () => {
  it('hides a message for longer than its function can run', () => {
    expect(queues.turn.visibilityMs).toBeGreaterThan(functions.turn.timeoutMs);
    // The rule of AWS: six times the timeout, plus the window.
    expect(queues.work.visibilityMs).toBeGreaterThanOrEqual(
      6 * functions.poll.timeoutMs + queues.work.eventSource.batchingWindowMs,
    );
  });

  it('gives a step function what its longest attempt needs, and a message six times that', () => {
    expect(functions.step.timeoutMs).toBe(900_000);
    expect(functions.step.timeoutMs).toBeGreaterThanOrEqual(longStepTimeoutMaxMs + longStepReserveMs);
    expect(queues.step.visibilityMs).toBe(5_400_000);
    expect(queues.step.eventSource).toEqual({ batchSize: 1, batchingWindowMs: 0, maxConcurrency: 20 });
  });

  it('gives a start the time of its function, and lets starts share it: they only wait', () => {
    expect(functions.step.timeoutMs).toBeGreaterThanOrEqual(startPatienceMs + startTakeMs);
    expect(queues.start.visibilityMs).toBe(5_400_000);
    expect(queues.start.eventSource).toEqual({ batchSize: 10, batchingWindowMs: 0, maxConcurrency: 50 });
  });

  it('gives a poll function the time for a batch of reads of 30 s, 8 at a time', () => {
    expect(Math.ceil(queues.work.eventSource.batchSize / 8) * 30_000).toBeLessThan(functions.poll.timeoutMs);
  });

  it('gives a FIFO queue no batching window and no batch over 10, which Lambda refuses', () => {
    expect(queues.turn.eventSource.batchingWindowMs).toBe(0);
    expect(queues.turn.eventSource.batchSize).toBeLessThanOrEqual(10);
  });

  it('sets a message aside only after five receives or more', () => {
    expect(queues.turn.maxReceiveCount).toBeGreaterThanOrEqual(5);
    expect(queues.work.maxReceiveCount).toBeGreaterThanOrEqual(5);
    expect(queues.step.maxReceiveCount).toBeGreaterThanOrEqual(5);
    expect(queues.start.maxReceiveCount).toBeGreaterThanOrEqual(5);
  });

  it('lets Lambda cut no chain of a run, which is as long as its workflow', () => {
    const looping = Object.entries(functions).filter(([, { recursiveLoop }]) => recursiveLoop === 'allow');
    expect(looping.map(([name]) => name)).toEqual(['turn', 'poll', 'step']);
  });
});
