import type { EpochMs } from '../base/time.js';

/** Duration from which a read or a push is slow. */
const slowReadMs = 2_000;
/** Time for which a server counts as slow after that. */
const rememberedMs = 300_000;

/** Remembers, for one process, which servers, and receivers of pushes, answer slowly. */
export class SlowServers {
  readonly #untilMs = new Map<string, EpochMs>();

  isSlow(server: string, nowMs: EpochMs): boolean {
    return (this.#untilMs.get(server) ?? 0) > nowMs;
  }

  note(server: string, { tookMs, nowMs }: { readonly tookMs: number; readonly nowMs: EpochMs }): void {
    if (tookMs >= slowReadMs) this.#untilMs.set(server, nowMs + rememberedMs);
  }
}
