import { type FunctionName, functions } from '../topology/topology.js';
import type { InvocationContext } from '../aws/turn-handler.js';

export interface FunctionStats {
  readonly invocations: number;
  readonly failures: number;
  /** Total duration of all invocations. */
  readonly busyMs: number;
}

/**
 * Invokes handlers like Lambda: an invocation fails when the timeout of its function is over. A handler cannot be
 * killed here and continues, like a frozen owner, which the engine has to tolerate anyway.
 */
export class LocalLambda {
  readonly #stats: Record<FunctionName, FunctionStats> = {
    api: noInvocation,
    turn: noInvocation,
    poll: noInvocation,
    step: noInvocation,
    schedule: noInvocation,
    serve: noInvocation,
  };
  readonly #inFlight = new Set<Promise<unknown>>();

  /** Rejects with the error of the handler, or when the timeout of the function is over. */
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

  /** Resolves when no invocation is in flight, or after `maxMs`. */
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
