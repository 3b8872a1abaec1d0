import { describe, expect, it } from 'vitest';
import type { RequestKind } from '../../../lib/history/server-rate.js';
import { RateLimiter, type SharedRate } from '../../../lib/remote/guard/rate-limiter.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { ServerLimits } from '../../../lib/store/parts/server-limits.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import { seeded } from '../../simulation/random.js';

const minuteMs = 60_000;
const fresh = { hasWaited: false, isExtra: false };
const back = { hasWaited: true, isExtra: false };

/** Workers that share the rate of one server, each with a clock that is ahead by some time. */
class Workers {
  readonly clock = new VirtualClock(1_000 * minuteMs);
  writes = 0;
  /** Admissions, by kind: the instants of the world. */
  readonly admitted: Record<RequestKind, number[]> = { starts: [], reads: [] };
  readonly #perMinute: number;
  readonly #limits = new ServerLimits(new MemoryTable());

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  one(skewMs = 0): RateLimiter {
    const limits = this.#limits;
    const written = <Value>(value: Value): Value => {
      this.writes++;
      return value;
    };
    const shared: SharedRate = {
      lease: (lease) => written(limits.lease('reports', lease)),
      openMinute: (lease) => written(limits.openMinute('reports', lease)),
      reserve: (part) => written(limits.reserve('reports', part)),
      beginLine: (part) => written(limits.beginLine('reports', part)),
      read: () => limits.readRate('reports'),
    };
    return new RateLimiter(this.#perMinute, shared, { nowMs: () => this.clock.nowMs() + skewMs });
  }

  /** Makes a request, and again at each place that it is given, for so long. Returns how often it was held back. */
  async call(worker: () => RateLimiter, kind: RequestKind, untilMs = Infinity): Promise<number> {
    for (let held = 0; ; held++) {
      const retryAtMs = await worker().take(kind, held === 0 ? fresh : back);
      if (retryAtMs === undefined) {
        this.admitted[kind].push(this.clock.nowMs());
        return held;
      }
      if (retryAtMs > untilMs) return held;
      await this.clock.delay(retryAtMs - this.clock.nowMs());
    }
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.nowMs() + ms;
    for (;;) {
      for (let round = 0; round < 200; round++) await Promise.resolve();
      await new Promise(setImmediate);
      const nextAtMs = this.clock.nextDelayAtMs() ?? Infinity;
      if (nextAtMs > untilMs) break;
      this.clock.moveTo(nextAtMs);
    }
    this.clock.moveTo(untilMs);
  }
}

/** Returns the most of these instants within any span of so many minutes. */
function mostWithin(instants: readonly number[], minutes: number): number {
  const sorted = [...instants].sort((a, b) => a - b);
  let from = 0;
  let most = 0;
  sorted.forEach((atMs, at) => {
    while (atMs - (sorted[from] ?? 0) >= minutes * minuteMs) from++;
    most = Math.max(most, at - from + 1);
  });
  return most;
}

describe('a rate that is reached', () => {
  it('GB-29: costs no write, however often it is asked', async () => {
    const workers = new Workers(3);
    const worker = workers.one();
    for (let n = 0; n < 3; n++) expect(await worker.take('reads', fresh)).toBeUndefined();
    const before = workers.writes;
    for (let n = 0; n < 1_000; n++)
      expect(await worker.take('reads', { hasWaited: false, isExtra: true })).toBe(1_001 * minuteMs);
    expect(workers.writes).toBe(before);
  });

  it('EN-20: gives each caller a place at which it is admitted, for less than a write in two', async () => {
    const workers = new Workers(30);
    const worker = workers.one();
    const held: number[] = [];
    for (let n = 0; n < 100; n++) void workers.call(() => worker, 'reads').then((times) => held.push(times));
    await workers.pass(4 * minuteMs);
    expect(workers.admitted.reads).toHaveLength(100);
    expect(Math.max(...held)).toBe(1);
    expect(workers.writes).toBeLessThanOrEqual(45);
  });

  it('lets no start overtake those that wait', async () => {
    const workers = new Workers(3);
    const [first, second] = [workers.one(), workers.one()];
    for (let n = 0; n < 4; n++) void workers.call(() => first, 'starts');
    await workers.pass(minuteMs - 1);
    // Lent by the end of the minute, but two others wait.
    const late = await second.take('starts', fresh);
    expect(late).toBeGreaterThan(1_001 * minuteMs);
  });
});

describe('the shares of starts and reads', () => {
  it('GB-29: a third is left to reads that wait, however many starts there are', async () => {
    const workers = new Workers(30);
    const worker = workers.one();
    for (let n = 0; n < 300; n++) void workers.call(() => worker, 'starts');
    await workers.pass(5_000);
    for (let n = 0; n < 200; n++) void workers.call(() => worker, 'reads');
    await workers.pass(8 * minuteMs);
    for (let minute = 1_000; minute < 1_008; minute++) {
      const inMinute = (kind: RequestKind): number =>
        workers.admitted[kind].filter((atMs) => Math.floor(atMs / minuteMs) === minute).length;
      expect(inMinute('reads'), `minute ${minute}`).toBeGreaterThanOrEqual(10);
      expect(inMinute('starts'), `minute ${minute}`).toBeGreaterThanOrEqual(19);
    }
  });

  it.each(['starts', 'reads'] as const)('what is left unused is lent: only %s', async (kind) => {
    const workers = new Workers(30);
    const worker = workers.one();
    let at = 0;
    const more = async (): Promise<void> => {
      for (;;) {
        void workers.call(() => worker, kind);
        at++;
        await workers.clock.delay(1_500);
      }
    };
    void more();
    await workers.pass(10 * minuteMs);
    expect(at).toBeGreaterThan(300);
    expect(workers.admitted[kind].length).toBeGreaterThanOrEqual(kind === 'reads' ? 295 : 270);
  });

  it.each([1, 2])('%i a minute change hands, so that neither kind starves', async (perMinute) => {
    const workers = new Workers(perMinute);
    const worker = workers.one();
    for (let n = 0; n < 40; n++) {
      void workers.call(() => worker, 'starts');
      void workers.call(() => worker, 'reads');
    }
    await workers.pass(30 * minuteMs);
    expect(workers.admitted.reads.length).toBeGreaterThanOrEqual(9 * perMinute);
    expect(workers.admitted.starts.length).toBeGreaterThanOrEqual(9 * perMinute);
  });
});

describe('the bound of a rate', () => {
  it('L2: counts no permit of the minute before', async () => {
    const workers = new Workers(10);
    const [first, second] = [workers.one(), workers.one()];
    // The fourth lease brings one more than is used.
    for (let n = 0; n < 4; n++) expect(await first.take('reads', fresh)).toBeUndefined();
    await workers.pass(minuteMs);
    for (let n = 0; n < 10; n++) expect(await second.take('reads', fresh)).toBeUndefined();
    expect(await first.take('reads', fresh)).toBeDefined();
  });

  it.each([1, 2, 3, 4])('holds exactly in each minute, over workers that come, go and die (seed %i)', async (seed) => {
    const random = seeded(seed);
    const perMinute = 1 + Math.floor(random() * 40);
    const workers = new Workers(perMinute);
    const alive = Array.from({ length: 5 }, () => workers.one());
    // A worker that dies keeps its permits to itself.
    const some = (): RateLimiter => {
      const at = Math.floor(random() * alive.length);
      if (random() < 0.05) alive[at] = workers.one();
      return alive[at]!;
    };
    for (let n = 0; n < 400; n++) {
      const kind: RequestKind = random() < 0.5 ? 'starts' : 'reads';
      void workers.clock.delay(random() * 6 * minuteMs).then(() => workers.call(some, kind));
    }
    await workers.pass(8 * minuteMs);
    const all = [...workers.admitted.starts, ...workers.admitted.reads];
    const perClockMinute = new Map<number, number>();
    for (const atMs of all) {
      const minute = Math.floor(atMs / minuteMs);
      perClockMinute.set(minute, (perClockMinute.get(minute) ?? 0) + 1);
    }
    expect(Math.max(...perClockMinute.values())).toBeLessThanOrEqual(perMinute);
    expect(mostWithin(all, 1)).toBeLessThanOrEqual(2 * perMinute);
  });

  it.each([5, 6, 7, 8])('is (n + 5) minutes in n with clocks that differ by two minutes (seed %i)', async (seed) => {
    const random = seeded(seed);
    const perMinute = 1 + Math.floor(random() * 20);
    const workers = new Workers(perMinute);
    const all = Array.from({ length: 6 }, () => workers.one(Math.round((random() * 4 - 2) * minuteMs)));
    // Some of them are away for minutes, so that the lead changes.
    let from = 0;
    const some = (): RateLimiter => all[(from + Math.floor(random() * 2)) % all.length]!;
    for (let n = 0; n < 600; n++) {
      const kind: RequestKind = random() < 0.5 ? 'starts' : 'reads';
      void workers.clock.delay(random() * 12 * minuteMs).then(() => workers.call(some, kind));
    }
    for (let n = 0; n < 15; n++) {
      from = Math.floor(random() * all.length);
      await workers.pass(minuteMs);
    }
    const admitted = [...workers.admitted.starts, ...workers.admitted.reads];
    for (const minutes of [1, 2, 5, 10])
      expect(mostWithin(admitted, minutes)).toBeLessThanOrEqual((minutes + 5) * perMinute);
    expect(admitted.length).toBeGreaterThan(5 * perMinute);
  });
});
