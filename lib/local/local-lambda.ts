import { type FunctionName, functions } from '../topology/topology.js';
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
    step: noInvocation,
    schedule: noInvocation,
  };
  readonly #inFlight = new Set<Promise<unknown>>();

  /** Rejects with what the handler throws, or when the time of the function is over. */
  async invoke<Result>(name: FunctionName, handler: (context: InvocationContext) => Promise<Result>): Promise<Result> {
    const { timeoutMs } = functions[name];
    const startedAtMs = performance.now();
    const elapsedMs = (): number => performance.now() - startedAtMs;
    const running = handler({ getRemainingTimeInMillis: () => Math.max(0, Math.floor(timeoutMs - elapsedMs())) });
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`the ${name} function took longer than ${timeoutMs} ms`));
      }, timeoutMs);
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
      clearTimeout(timer);
    }
  }

  stats(): Readonly<Record<FunctionName, FunctionStats>> {
    return { ...this.#stats };
  }

  /** Resolves when nothing is in flight, or after `maxMs`. */
  async idle(maxMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'timeout'>((resolve) => {
      timer = setTimeout(resolve, maxMs, 'timeout');
    });
    while (this.#inFlight.size > 0) {
      if ((await Promise.race([Promise.allSettled(this.#inFlight), timeout])) === 'timeout') break;
    }
    clearTimeout(timer);
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
