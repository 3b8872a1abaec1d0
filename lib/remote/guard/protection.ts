import { defined } from '../../base/defined.js';
import { storedError, type StoredError } from '../../base/errors.js';
import { startPromptMs } from '../../base/limits.js';
import type { Clock } from '../../base/time.js';
import { effectiveLimits, type ServerLimits } from '../../workflow/server-limits.js';
import { type GuardDeps, ServerGuard } from './server-guard.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { RemoteTaskTransport, RemoteTransports, StartReply, StartRequest } from '../transport.js';
import { isTransient } from '../rpc/transient.js';

/**
 * Returns `transports` with each server behind its own guard, which lives as long as the process: starts and reads need
 * admission, and the guard learns from the outcome of every call. While a server is left alone, cancels and answers are
 * put off without being sent, and it is not watched.
 */
export function protectTransports(
  transports: RemoteTransports,
  limitsOf: (server: string) => ServerLimits | undefined,
  deps: GuardDeps,
): RemoteTransports {
  const guards = new Map<string, ServerGuard>();
  const kept = new WeakMap<RemoteTaskTransport, RemoteTaskTransport>();
  return {
    get(server) {
      const transport = transports.get(server);
      const known = kept.get(transport);
      if (known !== undefined) return known;
      const guard = guards.get(server) ?? new ServerGuard(server, effectiveLimits(limitsOf(server)), deps);
      guards.set(server, guard);
      const made = protectedTransport(transport, guard, {
        clock: deps.clock,
        onThrown: (error) => {
          deps.log.error('client of a remote server failed', { server, error });
        },
        onReply: ({ kind, error }, sent) => {
          if (sent !== undefined) deps.metrics?.put(sent, 1, { server, result: kind });
          // Says only that there is no such task; by some servers in a way of their own.
          if (kind === 'missing' || kind === 'gone') return;
          if (error?.code === 'REMOTE_PROTOCOL_VIOLATION') deps.metrics?.put('ProtocolViolations', 1, { server });
        },
      });
      kept.set(transport, made);
      return made;
    },
  };
}

/** Observers of the calls of one server. */
interface Watchers {
  readonly clock: Clock;
  readonly onThrown: (error: unknown) => void;
  readonly onReply: (reply: Learned, sent?: 'Polls' | 'RemoteStarts') => void;
}

function protectedTransport(
  inner: RemoteTaskTransport,
  guard: ServerGuard,
  { clock, onThrown, onReply }: Watchers,
): RemoteTaskTransport {
  const learning = async <Reply extends Learned>(
    ask: () => Promise<Reply>,
    kind: Reply['kind'],
    sent?: 'Polls' | 'RemoteStarts',
  ): Promise<Reply> => {
    const came = await orFailure(ask, kind, onThrown);
    onReply(came, sent);
    await learn(guard, came);
    return came;
  };
  // Casts to `Required`: an optional method is called only where there is one.
  const all = inner as Required<RemoteTaskTransport>;
  return {
    protocol: inner.protocol,
    get dedupes() {
      return inner.dedupes;
    },
    problemWith: (request) => inner.problemWith(request),
    admit: (...given) => guard.admit(...given),
    whenRead: (atMs) => guard.whenRead(atMs),
    answersAtOnce: async (request) => (await inner.answersAtOnce?.(request)) ?? guard.isPrompt(),
    start: async (request) => {
      const beganAtMs = clock.nowMs();
      // A client that throws leaves open whether the start was sent.
      const reply = await learning(() => inner.start(request), 'unknown', 'RemoteStarts');
      await learnPace(guard, request, reply, clock.nowMs() - beganAtMs);
      return reply;
    },
    get: (handle) => learning(() => inner.get(handle), 'unreadable', 'Polls'),
    cancel: async (handle) => (await putOff(guard)) ?? learning(() => inner.cancel(handle), 'retry'),
    ...defined({
      traits: inner.traits === undefined ? undefined : () => all.traits(),
      answer:
        inner.answer === undefined
          ? undefined
          : async (...given: Given<'answer'>) => (await putOff(guard)) ?? learning(() => all.answer(...given), 'retry'),
      find:
        inner.find === undefined
          ? undefined
          : (...given: Given<'find'>) => learning(() => all.find(...given), 'unknown'),
      adopt:
        inner.adopt === undefined
          ? undefined
          : (...given: Given<'adopt'>) => learning(() => all.adopt(...given), 'retry'),
      forgetPush: inner.forgetPush === undefined ? undefined : (handle: RemoteTaskHandle) => all.forgetPush(handle),
      watch:
        inner.watch === undefined
          ? undefined
          : async (...given: Given<'watch'>) => {
              if ((await guard.rest()) === undefined) await all.watch(...given);
            },
    }),
  };
}

type Given<Method extends 'answer' | 'find' | 'adopt' | 'watch'> = Parameters<Required<RemoteTaskTransport>[Method]>;

/**
 * Returns the reply. If a client throws, which is a bug of ours, returns a reply from which nothing is learned: another
 * attempt, or other code, may succeed, and the rest of the run must not wait for it.
 */
async function orFailure<Reply extends Learned>(
  ask: () => Promise<Reply>,
  kind: Reply['kind'],
  onThrown: (error: unknown) => void,
): Promise<Reply> {
  try {
    return await ask();
  } catch (error) {
    onThrown(error);
    const name = error instanceof Error ? error.name : 'not an error';
    return { kind, error: storedError('INTERNAL', `the client of the remote server has failed (${name})`) } as Reply;
  }
}

interface Learned {
  readonly kind: string;
  readonly error?: StoredError;
  readonly retryAfterMs?: number;
}

/**
 * Reports the outcome of a call to the guard. A failure of the server is no answer, or 408, 425, 429 or 5xx. Any other
 * answer, errors included, shows that it works; a reply that breaks the protocol, or a request that we did not send,
 * shows neither.
 */
async function learn(guard: ServerGuard, { kind, error, retryAfterMs }: Learned): Promise<void> {
  if (error === undefined || error.code === 'REMOTE_START_REFUSED') return guard.succeeded();
  // Counts "no such task" as an answer.
  if (kind === 'missing' || kind === 'gone') return guard.succeeded();
  const status = error.details?.['status'];
  if (typeof status === 'number' && !isTransient(status)) return guard.succeeded();
  // Ignores `Retry-After` under other statuses, where it concerns only this request.
  if (error.code === 'REMOTE_UNREACHABLE')
    return guard.failed(status === 429 || status === 503 ? retryAfterMs : undefined);
}

/**
 * Learns from a start whether a turn could have waited for it. A quick answer that ends the call proves nothing: the
 * next call may be about more work. A slow answer discards what was known.
 */
async function learnPace(
  guard: ServerGuard,
  { untilMs }: StartRequest,
  { kind }: StartReply,
  tookMs: number,
): Promise<void> {
  if (tookMs > startPromptMs) await guard.sawPrompt(false);
  else if (untilMs !== undefined && kind === 'started') await guard.sawPrompt(true);
}

async function putOff(guard: ServerGuard) {
  const held = await guard.rest();
  return held === undefined ? undefined : ({ kind: 'retry', error: held.error } as const);
}
