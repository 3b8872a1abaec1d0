import type { OpenedStream } from './open-streams.js';

/** Calls `fire` after a delay, and returns a function that prevents it. */
export type Timer = (delayMs: number, fire: () => void) => () => void;

export const realTimer: Timer = (delayMs, fire) => {
  const timer = setTimeout(fire, delayMs);
  return () => {
    clearTimeout(timer);
  };
};

export interface StreamOptions {
  readonly timer: Timer;
  /** Interval of the comments that keep a quiet connection open. */
  readonly keepAliveMs: number;
  /** Time after which the stream ends. A function is not told that its client has left, and is billed to its end. */
  readonly streamMaxMs: number;
  /** Aborted when the stream ends, for whatever reason. */
  readonly stop: AbortController;
  /** Left when the stream ends. */
  readonly place?: OpenedStream | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Writes an event. JSON has no line ends, so its text is one line. */
export function sseEvent(data: object, { id, type }: { readonly id?: number; readonly type?: string } = {}): string {
  const head = `${type === undefined ? '' : `event: ${type}\n`}${id === undefined ? '' : `id: ${id}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

// A blank line ends an event. Some parsers (httpx-sse of Python) report one without data where nothing but a comment or
// `retry` came before, and their clients fail at it: so these have none.

/** Written first: headers are sent with the first byte, and a client whose stream broke comes back after a second. */
const opening = 'retry: 1000\n';
const keepAlive = ': keep-alive\n';
const closing = ': the stream has reached its limit of time; subscribe again\n';

export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // Proxies that buffer would hold back events.
  'x-accel-buffering': 'no',
};

/**
 * Responds with events as they come, each once its reader has taken those before. The stream ends with its events, when
 * the client leaves, or at its limit of time. `events` must not throw.
 */
export function sseResponse(events: AsyncIterator<string, undefined>, options: StreamOptions): Response {
  const { timer, keepAliveMs, streamMaxMs, stop, place, headers } = options;
  const encoder = new TextEncoder();
  const stopped = new Promise<'stopped'>((resolve) => {
    stop.signal.addEventListener('abort', () => {
      resolve('stopped');
    });
  });
  const withdraw = timer(streamMaxMs, () => {
    stop.abort();
  });
  let pending: Promise<IteratorResult<string, undefined>> | undefined;
  let calm = (): void => undefined;
  let isOver = false;
  const finish = async (): Promise<void> => {
    isOver = true;
    withdraw();
    calm();
    stop.abort();
    // Not awaited: it waits for an event under way.
    void events.return?.().catch(() => undefined);
    // Awaited: a function is frozen once its response has ended.
    await place?.leave();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(opening));
    },
    async pull(controller) {
      pending ??= events.next();
      const quiet = new Promise<'quiet'>((resolve) => {
        calm = timer(keepAliveMs, () => {
          resolve('quiet');
        });
      });
      const came = await Promise.race([pending, stopped, quiet]);
      calm();
      // The client has left.
      if (isOver) return;
      if (came === 'quiet') {
        controller.enqueue(encoder.encode(keepAlive));
      } else if (came !== 'stopped' && came.done !== true) {
        pending = undefined;
        controller.enqueue(encoder.encode(came.value));
      } else {
        if (stop.signal.aborted) controller.enqueue(encoder.encode(closing));
        await finish();
        controller.close();
      }
    },
    cancel: finish,
  });
  return new Response(body, { headers: { ...sseHeaders, ...headers } });
}
