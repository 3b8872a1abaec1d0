import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventBridgeBus } from '../../../lib/bus/eventbridge-bus.js';
import { createEventBridgeClient } from '../../../lib/sdk/eventbridge-client.js';
import type { LifecycleEvent } from '../../../lib/history/lifecycle-event.js';
import { type FakeEventBridge, startFakeEventBridge } from '../../support/fake-eventbridge.js';

let service: FakeEventBridge;
beforeEach(async () => {
  service = await startFakeEventBridge();
});
afterEach(async () => {
  await service.close();
});

const clock = { atMs: 0, nowMs: () => clock.atMs };

/** Creates a bus whose requests the SDK does not repeat unless a test says so. */
function aBus({ maxAttempts = 1, requestTimeoutMs = 2_000, answerTimeoutMs = 8_000 } = {}): {
  bus: EventBridgeBus;
  delaysMs: number[];
} {
  const delaysMs: number[] = [];
  const bus = new EventBridgeBus({
    client: createEventBridgeClient({ endpoint: service.endpoint, maxAttempts, requestTimeoutMs }),
    bus: 'reports',
    clock,
    answerTimeoutMs,
    delay: async (delayMs) => {
      delaysMs.push(delayMs);
    },
  });
  return { bus, delaysMs };
}

const runId = '0123456789abcdef0123456789abcdef';
function anEvent(seq: number, more: { readonly tags?: Readonly<Record<string, string>> } = {}): LifecycleEvent {
  return {
    type: 'RunCompleted',
    eventId: `${runId}:${seq}:0`,
    runId,
    workflow: 'monthlyReport',
    version: '1',
    seq,
    atMs: 1_767_225_600_000 + seq,
    ...more,
  };
}
const events = (count: number): LifecycleEvent[] => Array.from({ length: count }, (_, at) => anEvent(at + 1));
const seqsOf = (published: readonly LifecycleEvent[]): readonly number[] => published.map(({ seq }) => seq);
const requestedSeqs = (): readonly (readonly number[])[] =>
  service.requests.map((entries) => entries.map(({ Detail }) => (JSON.parse(Detail) as LifecycleEvent).seq));

describe('a bus of EventBridge', () => {
  it('gets each event with its type, its time, and all of it as the detail', async () => {
    await aBus().bus.publish([anEvent(4)]);
    expect(service.requests).toEqual([
      [
        {
          EventBusName: 'reports',
          Source: 'outwait',
          DetailType: 'RunCompleted',
          Detail:
            '{"type":"RunCompleted","eventId":"0123456789abcdef0123456789abcdef:4:0","runId":"0123456789abcdef0123456789abcdef","workflow":"monthlyReport","version":"1","seq":4,"atMs":1767225600004}',
          Time: 1767225600.004,
          Resources: [],
        },
      ],
    ]);
  });

  it('gets ten events in a request, in their order', async () => {
    await aBus().bus.publish(events(23));
    expect(service.requests.map(({ length }) => length)).toEqual([10, 10, 3]);
    expect(seqsOf(service.taken)).toEqual(seqsOf(events(23)));
  });

  it('gets no request of more than 256 KB', async () => {
    const large = [1, 2, 3].map((seq) => anEvent(seq, { tags: { text: 'x'.repeat(120_000) } }));
    await aBus().bus.publish(large);
    expect(requestedSeqs()).toEqual([[1, 2], [3]]);
  });

  it('gets only those events again that it did not take', async () => {
    service.faults.push({ kind: 'failed', codes: { 1: 'InternalFailure', 3: 'ThrottlingException' } });
    const { bus, delaysMs } = aBus();
    await bus.publish(events(4));
    expect(requestedSeqs()).toEqual([
      [1, 2, 3, 4],
      [2, 4],
    ]);
    expect(delaysMs).toEqual([100]);
  });

  it('fails when it does not take an event in three requests, and gets no later ones', async () => {
    const refusal = { kind: 'failed', codes: { 0: 'InternalFailure' } } as const;
    service.faults.push({ kind: 'failed', codes: { 9: 'InternalFailure' } }, refusal, refusal);
    const { bus, delaysMs } = aBus();
    await expect(bus.publish(events(11))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'the bus did not take an event (InternalFailure)',
    });
    expect(requestedSeqs()).toEqual([[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [10], [10]]);
    expect(delaysMs).toEqual([100, 200]);
  });

  it('fails with the name of the error when the request is refused', async () => {
    service.faults.push({ kind: 'refused', status: 400, error: 'ResourceNotFoundException' });
    await expect(aBus().bus.publish(events(1))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'the bus did not take an event (ResourceNotFoundException)',
    });
  });

  it('is asked again where it throttles or breaks the connection; what it had taken then comes twice', async () => {
    service.faults.push({ kind: 'refused', status: 400, error: 'ThrottlingException' });
    await aBus({ maxAttempts: 2 }).bus.publish(events(1));
    service.faults.push({ kind: 'lost' });
    await aBus({ maxAttempts: 2 }).bus.publish(events(2));
    expect(seqsOf(service.taken)).toEqual([1, 1, 2, 1, 2]);
  });

  it('fails when it gives no answer in time', async () => {
    service.faults.push({ kind: 'hangs' });
    await expect(aBus({ requestTimeoutMs: 50 }).bus.publish(events(1))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'the bus did not take an event (TimeoutError)',
    });
  });

  it('fails when its answer does not end', async () => {
    service.faults.push({ kind: 'halfAnswered' });
    await expect(aBus({ answerTimeoutMs: 50 }).bus.publish(events(1))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'the bus did not take an event (TimeoutError)',
    });
  });

  it('gets no request for which there is no time left, and is not blamed for it', async () => {
    const answers = [true, true, false];
    const { bus } = aBus();
    await expect(bus.publish(events(23), () => answers.shift() ?? false)).rejects.toMatchObject({
      message: 'the bus did not take an event (no time is left)',
    });
    expect(service.requests.map(({ length }) => length)).toEqual([10, 10]);
    await bus.publish(events(1));
    expect(service.requests).toHaveLength(3);
  });

  it('is left alone for half a minute after a failure', async () => {
    clock.atMs = 1_000_000;
    service.faults.push({ kind: 'refused', status: 400, error: 'AccessDeniedException' });
    const { bus } = aBus();
    await expect(bus.publish(events(1))).rejects.toMatchObject({ code: 'INTERNAL' });
    clock.atMs += 29_999;
    await expect(bus.publish(events(1))).rejects.toMatchObject({
      message: 'the bus did not take an event (it has just failed)',
    });
    expect(service.requests).toHaveLength(1);
    clock.atMs += 1;
    await bus.publish(events(1));
    expect(seqsOf(service.taken)).toEqual([1]);
  });
});
