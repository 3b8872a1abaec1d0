import { setTimeout as sleep } from 'node:timers/promises';
import { type FunctionName, functions } from '../aws/topology.js';
import type { InvocationContext } from '../aws/turn-handler.js';

export interface FunctionStats {
  readonly invocations: number;
  readonly failures: number;
  /** Time in which the function ran, over all invocations. */
  readonly busyMs: number;
}

/**
 * Invokes handlers as Lambda does: each invocation with the time that its function has, failed when that is over. As a
 * handler cannot be killed here it then runs on, like the frozen owner that the engine has to cope with anyway.
 */
export class LocalLambda {
  readonly #stats: Record<FunctionName, FunctionStats> = {
    api: noInvocation,
    turn: noInvocation,
    poll: noInvocation,
    schedule: noInvocation,
  };
  readonly #inFlight = new Set<Promise<unknown>>();

  /** Rejects with what the handler throws, or when the time of the function is over. */
  async invoke<Result>(name: FunctionName, handler: (context: InvocationContext) => Promise<Result>): Promise<Result> {
    const { timeoutMs } = functions[name];
    const startedAtMs = performance.now();
    const elapsedMs = (): number => performance.now() - startedAtMs;
    const running = handler({ getRemainingTimeInMillis: () => Math.max(0, Math.floor(timeoutMs - elapsedMs())) });
    const over = new AbortController();
    const timedOut = sleep(timeoutMs, undefined, { signal: over.signal }).then(() => {
      throw new Error(`the ${name} function took longer than ${timeoutMs} ms`);
    });
    const invocation = Promise.race([running, timedOut]);
    this.#inFlight.add(invocation);
    try {
      const result = await invocation;
      this.#count(name, elapsedMs(), false);
      return result;
    } catch (error) {
      this.#count(name, elapsedMs(), true);
      throw error;
    } finally {
      this.#inFlight.delete(invocation);
      timedOut.catch(() => undefined);
      over.abort();
    }
  }

  stats(): Readonly<Record<FunctionName, FunctionStats>> {
    return { ...this.#stats };
  }

  /** Resolves when nothing is in flight, or after `maxMs`. */
  async idle(maxMs: number): Promise<void> {
    const over = new AbortController();
    const timeout = sleep(maxMs, undefined, { signal: over.signal }).catch(() => undefined);
    while (this.#inFlight.size > 0) {
      const settled = Promise.allSettled(this.#inFlight).then(() => 'settled');
      if ((await Promise.race([settled, timeout])) !== 'settled') break;
    }
    over.abort();
  }

  #count(name: FunctionName, busyMs: number, failed: boolean): void {
    const before = this.#stats[name];
    this.#stats[name] = {
      invocations: before.invocations + 1,
      failures: before.failures + (failed ? 1 : 0),
      busyMs: before.busyMs + busyMs,
    };
  }
}

const noInvocation: FunctionStats = { invocations: 0, failures: 0, busyMs: 0 };
