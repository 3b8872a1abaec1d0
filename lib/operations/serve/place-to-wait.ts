import type { EpochMs } from '../../base/time.js';
import type { OpenedStream, OpenStream } from '../../serve/open-streams.js';
import type { Until } from '../../serve/tasks.js';
import type { Pausing } from './watch-task.js';

/** Longest wait that needs no place: many requests take that long. */
const shortWaitMs = 5_000;

/** A wait that takes a place among the open streams, if it pauses. */
export interface PlaceToWait {
  readonly pausing: Pausing;
  /** Ends the wait, and gives the place to another one. Never throws. */
  leave(): Promise<void>;
}

/**
 * Returns how a request waits. It occupies an invocation, as a stream does, and is counted with these from its first pause
 * on, unless it is short. Where there is no place the wait ends: any wait may end early.
 */
export function placeToWait(
  openStream: OpenStream | undefined,
  { untilMs, signal: given, isInStream = false }: Until,
  nowMs: EpochMs,
): PlaceToWait {
  if (openStream === undefined || isInStream || untilMs - nowMs <= shortWaitMs)
    return { pausing: { untilMs, signal: given }, leave: async () => undefined };
  const over = new AbortController();
  const end = (): void => {
    over.abort();
  };
  const signal = given === undefined ? over.signal : AbortSignal.any([given, over.signal]);
  let place: OpenedStream | undefined;
  const mayPause = async (): Promise<boolean> => {
    place = await openStream({ signal, end });
    return place !== undefined;
  };
  return {
    pausing: { untilMs, signal, mayPause },
    leave: async () => {
      end();
      await place?.leave();
    },
  };
}
