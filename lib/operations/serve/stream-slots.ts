import type { EpochMs } from '../../base/time.js';
import type { OpenedStream, OpenStream } from '../../serve/open-streams.js';
import type { Slots } from '../../store/run-store.js';
import type { Deps } from '../deps.js';
import { callerDigest } from './caps.js';

/** Time for which a place is kept without a sign of life of its stream: that of a dead process is free again then. */
const leaseMs = 60_000;
/** Interval of the signs of life: two may be lost. */
const renewMs = 20_000;

/** The last part of the places is for callers that have less than this part: one caller alone cannot take them all. */
const keptPart = 1 / 4;

/**
 * Returns how a caller opens streams, of which at most `max` are open at once in all processes: each occupies an
 * invocation, of which the other requests need some. A stream leases one of as many slots in the table.
 */
export function createOpenStream(deps: Deps, max: number): OpenStream {
  return async ({ signal, end }) => {
    const slots = await deps.store.streamSlots();
    const holder = deps.random.hex(16);
    const atMs = deps.clock.nowMs();
    const untilMs = atMs + leaseMs;
    const first = Math.floor(deps.random.fraction() * max);
    const shares = { owner: callerDigest(deps), kept: Math.floor(max * keptPart) };
    const { number, taken } = await slots.take({ slots: max, holder, atMs, untilMs, first, ...shares });
    deps.metrics?.put('OpenStreams', taken);
    if (number === undefined) return undefined;
    const place = { slots, number, holder };
    void keep(deps, place, { signal, end, untilMs });
    return { leave: () => leave(deps, place) };
  };
}

interface Place {
  readonly slots: Slots;
  readonly number: number;
  readonly holder: string;
}

/** Renews the lease until the stream ends. Never throws. */
async function keep(
  deps: Deps,
  { slots, number, holder }: Place,
  stream: { readonly signal: AbortSignal; readonly end: () => void; readonly untilMs: EpochMs },
): Promise<void> {
  let { untilMs } = stream;
  for (;;) {
    await deps.delay(renewMs, stream.signal);
    if (stream.signal.aborted) return;
    const nextMs = deps.clock.nowMs() + leaseMs;
    try {
      if (!(await slots.renew(number, holder, nextMs))) break;
      untilMs = nextMs;
    } catch (error) {
      deps.log.warn('place of a stream not renewed', { error });
      if (deps.clock.nowMs() >= untilMs) break;
    }
  }
  // A process that was frozen has lost its place to another stream.
  stream.end();
}

async function leave(deps: Deps, { slots, number, holder }: Place): ReturnType<OpenedStream['leave']> {
  try {
    await slots.free(number, holder);
  } catch (error) {
    deps.log.warn('place of a stream not given back', { error });
  }
}
