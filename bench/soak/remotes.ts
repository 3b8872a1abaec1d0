import { setTimeout as delay } from 'node:timers/promises';
import { startA2aAgent } from '../../examples/servers/a2a-agent.js';
import { startMcpServer } from '../../examples/servers/mcp-server.js';
import { openWebServer } from '../../examples/servers/web-server.js';

// The outside world of the soak, in the driver's process, so that it outlives every crash of the engine.

export interface Remotes {
  /** Environment variables that configure the app. */
  readonly env: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  /** Tasks that are working now, by server. */
  working(): Readonly<Record<string, number>>;
  /** Tasks created so far, by server. */
  created(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/**
 * Records what was booked and undone. An undo also cancels a booking that arrives later, which may still be in flight.
 */
export class Ledger {
  readonly #booked = new Set<string>();
  readonly #undone: string[] = [];
  readonly #waiting = new Map<string, () => void>();

  book(owner: string, what: string): void {
    const name = entry(owner, what);
    this.#booked.add(name);
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }

  undo(owner: string, what: string): void {
    const name = entry(owner, what);
    if (!this.#undone.includes(name)) this.#undone.push(name);
  }

  isBooked(owner: string, what: string): boolean {
    return this.#booked.has(entry(owner, what));
  }

  isUndone(owner: string, what: string): boolean {
    return this.#undone.includes(entry(owner, what));
  }

  /** Returns which of two undone bookings was undone first. */
  undoneFirst(owner: string, whats: readonly [string, string]): string {
    const [one, other] = whats;
    return this.#undone.indexOf(entry(owner, one)) < this.#undone.indexOf(entry(owner, other)) ? one : other;
  }

  whenBooked(owner: string, what: string): Promise<void> {
    if (this.isBooked(owner, what)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(entry(owner, what), resolve));
  }
}

const entry = (owner: string, what: string): string => `${owner} ${what}`;

/**
 * Starts the servers. A task of `reports` and `supplier` works for up to `taskMaxMs`, a task of `stuck` until it is
 * cancelled.
 */
export async function startRemotes(options: {
  readonly taskMaxMs: number;
  readonly random: () => number;
}): Promise<Remotes> {
  const { taskMaxMs, random } = options;
  const working: Record<string, number> = { reports: 0, supplier: 0, stuck: 0 };
  const counted = (server: string, work: (signal: AbortSignal) => Promise<void>) => ({
    work: async (signal: AbortSignal): Promise<void> => {
      working[server] = (working[server] ?? 0) + 1;
      try {
        await work(signal);
      } finally {
        working[server] = (working[server] ?? 0) - 1;
      }
    },
  });
  const short = (signal: AbortSignal): Promise<void> => delay(Math.ceil(random() * taskMaxMs), undefined, { signal });
  const endless = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('cancelled'));
      });
    });
  const ledger = new Ledger();
  const ledgerServer = await openWebServer(0, async (request) => {
    const { action, owner, what } = (await request.json()) as { action: 'book' | 'undo'; owner: string; what: string };
    ledger[action](owner, what);
    return new Response(null, { status: 204 });
  });
  const reports = await startMcpServer(counted('reports', short));
  const stuck = await startMcpServer(counted('stuck', endless));
  const supplier = await startA2aAgent(counted('supplier', short));
  return {
    env: {
      SOAK_REPORTS_URL: reports.url,
      SOAK_STUCK_URL: stuck.url,
      SOAK_SUPPLIER_URL: supplier.url,
      SOAK_LEDGER_URL: ledgerServer.origin,
    },
    ledger,
    working: () => ({ ...working }),
    created: () => ({
      reports: reports.stats().tasks,
      stuck: stuck.stats().tasks,
      supplier: supplier.stats().tasks,
    }),
    close: async () => {
      await Promise.all([reports.close(), stuck.close(), supplier.close(), ledgerServer.close()]);
    },
  };
}
