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
  readonly finds?: boolean;
  readonly answers?: string;
  readonly pauseMs?: number;
  readonly key?: string;
  readonly readsMax?: number;
}

/**
 * Starts a task and reads it to its end, with `pauseMs` before each read; or cancels it after the first. `finds`: looks
 * for the task of a start without an answer. `answers`: the answer to each of its questions.
 */
export async function play(
  transport: RemoteTaskTransport,
  request: RemoteRequest,
  { cancels = false, finds = false, answers, pauseMs = 0, key = 'zoo-1', readsMax = 40 }: PlayOptions = {},
): Promise<Played> {
  const start = await transport.start({ request, idempotencyKey: key });
  const found =
    finds && start.kind === 'unknown' ? await transport.find?.({ request, idempotencyKey: key }) : undefined;
  const handle = start.kind === 'started' ? start.handle : found?.kind === 'found' ? found.handle : undefined;
  if (handle === undefined) return { start, reads: [] };
  const reads: PollReply[] = [];
  let cancel: CancelReply | undefined;
  while (reads.length < readsMax) {
    if (pauseMs > 0) await delay(pauseMs);
    const read = await transport.get(handle);
    reads.push(read);
    if (read.kind !== 'working') break;
    const [question] = read.questions ?? [];
    if (answers !== undefined && question !== undefined)
      await transport.answer?.(handle, question, { action: 'accept', content: answers }, `${key} answer`);
    if (cancels) cancel ??= await transport.cancel(handle);
  }
  return { start, reads, ...(cancel === undefined ? {} : { cancel }) };
}
