import type { JsonValue } from '../base/json.js';
import type {
  ArtifactUpdated,
  PatchRecorded,
  ProgressReported,
  SignalDelivered,
  WaitsClosed,
} from '../history/event.js';
import type { Position } from './position.js';
import type { Signals } from './waits/signals.js';
import type { Waits } from './waits/waits.js';

/** Events that result from the code, besides its commands. */
export type DerivedEvent = SignalDelivered | WaitsClosed | PatchRecorded | ProgressReported | ArtifactUpdated;

interface Parts {
  readonly waits: Waits;
  readonly signals: Signals;
  readonly position: Readonly<Position>;
  /** Patches that the whole history records. */
  readonly patches: ReadonlySet<string>;
}

/** Collects the derived events that are not committed yet. */
export class Derived {
  readonly #parts: Parts;
  /** Answers of `ctx.patched`; the first one for a patch stands. */
  readonly #patches = new Map<string, boolean>();
  #reports: (PatchRecorded | ProgressReported | ArtifactUpdated)[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Returns whether new code may run: on replay only if the history records the patch, since old code passed without
   * it; when live always, and the patch is recorded.
   */
  isPatched(patchId: string): boolean {
    const known = this.#patches.get(patchId);
    if (known !== undefined) return known;
    const { position, patches } = this.#parts;
    const isRecorded = patches.has(patchId);
    const answer = position.isLive || isRecorded;
    this.#patches.set(patchId, answer);
    if (position.isLive && !isRecorded) this.#reports.push({ type: 'PatchRecorded', atMs: position.nowMs, patchId });
    return answer;
  }

  reportProgress(progress: JsonValue): void {
    const { isLive, nowMs } = this.#parts.position;
    if (isLive) this.#reports.push({ type: 'ProgressReported', atMs: nowMs, progress });
  }

  updateArtifact(update: Pick<ArtifactUpdated, 'artifact' | 'append' | 'lastChunk'>): void {
    const { isLive, nowMs } = this.#parts.position;
    if (isLive) this.#reports.push({ type: 'ArtifactUpdated', atMs: nowMs, ...update });
  }

  /** Removes and returns the events that result from the applied ones, for waits recorded up to `lastWaitId`. */
  take(lastWaitId: number, hasEnded: boolean): readonly DerivedEvent[] {
    const { waits, signals, position } = this.#parts;
    const atMs = position.nowMs;
    const deliveries = signals.takeDeliveries(lastWaitId);
    // The end of the run closes everything that is open.
    const closed = hasEnded ? [] : waits.closed.take(lastWaitId);
    const waitIds = closed.filter((command) => !waits.requests.willBeLongStep(command)).map(({ waitId }) => waitId);
    const reports = this.#reports;
    this.#reports = [];
    return [
      ...deliveries.map((delivery): SignalDelivered => ({ type: 'SignalDelivered', atMs, ...delivery })),
      ...(waitIds.length === 0 ? [] : [{ type: 'WaitsClosed', atMs, waitIds } satisfies WaitsClosed]),
      ...reports,
    ];
  }
}
