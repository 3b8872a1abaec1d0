import { setTimeout as delay } from 'node:timers/promises';
import type {
  CancelReply,
  PollReply,
  RemoteRequest,
  RemoteTaskTransport,
  StartReply,
} from '../../../lib/remote/transport.js';

export interface Played {
  readonly start: StartReply;
  readonly reads: readonly PollReply[];
  readonly cancel?: CancelReply;
}

interface PlayOptions {
  readonly cancels?: boolean;
  readonly pauseMs?: number;
  readonly key?: string;
  readonly readsMax?: number;
}

/** Starts a task and reads it to its end, with `pauseMs` before each read; or cancels it after the first. */
export async function play(
  transport: RemoteTaskTransport,
  request: RemoteRequest,
  { cancels = false, pauseMs = 0, key = 'zoo-1', readsMax = 40 }: PlayOptions = {},
): Promise<Played> {
  const start = await transport.start({ request, idempotencyKey: key });
  if (start.kind !== 'started') return { start, reads: [] };
  const reads: PollReply[] = [];
  let cancel: CancelReply | undefined;
  while (reads.length < readsMax) {
    if (pauseMs > 0) await delay(pauseMs);
    const read = await transport.get(start.handle);
    reads.push(read);
    if (read.kind !== 'working') break;
    if (cancels) cancel ??= await transport.cancel(start.handle);
  }
  return { start, reads, ...(cancel === undefined ? {} : { cancel }) };
}
