import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../lib/base/errors.js';
import { protectTransports } from '../../../lib/remote/guard/protection.js';
import type { PollReply, RemoteTaskTransport } from '../../../lib/remote/transport.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { ServerStates } from '../../../lib/store/parts/server-states.js';
import type { Table } from '../../../lib/store/table.js';
import { VirtualClock } from '../../../lib/testing/virtual-clock.js';
import type { ServerLimits } from '../../../lib/workflow/server-limits.js';
import { heardLog } from '../../support/outputs/heard.js';

const handle = { server: 'reports', protocol: 'mcp', wire: 'x', taskId: 't1' } as const;
const working: PollReply = { kind: 'working', state: 'working' };
const failing = (status?: number, retryAfterMs?: number): PollReply => ({
  kind: 'unreadable',
  error: {
    code: 'REMOTE_UNREACHABLE',
    message: 'no',
    ...(status === undefined ? {} : { details: { status } }),
  },
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

let holders = 0;

/** Creates a server, and workers that share a table. */
function aServer(limits: ServerLimits = {}, { jitter = 0 } = {}) {
  const clock = new VirtualClock(1_000_000);
  const memory = new MemoryTable();
  const writes: string[] = [];
  let reads = 0;
  let isAway = false;
  const table: Table = {
    write: async (write) => {
      if (isAway) throw new EngineError('STORE_UNAVAILABLE', 'away');
      writes.push(write.kind === 'put' ? write.item.sk : `${write.key.sk} ${Object.keys(write.set ?? {}).join()}`);
      return memory.write(write);
    },
    transact: (all) => memory.transact(all),
    get: async (key) => {
      if (isAway) throw new EngineError('STORE_UNAVAILABLE', 'away');
      reads++;
      return memory.get(key);
    },
    queryPartition: (...query) => memory.queryPartition(...query),
    queryIndex: (query) => memory.queryIndex(query),
  };
  const logged: string[] = [];
  const note = (event: string): void => void logged.push(event);
  const log = heardLog({ debug: note, info: note, warn: note, error: note });
  const server = {
    clock,
    writes,
    logged,
    reads: () => reads,
    reply: working,
    calls: 0,
    cancels: 0,
    watches: 0,
    away: (away: boolean) => void (isAway = away),
    worker: (): RemoteTaskTransport => {
      const inner: RemoteTaskTransport = {
        protocol: 'mcp',
        dedupes: false,
        problemWith: () => undefined,
        start: async () => ({ kind: 'started', state: expect.any(String) as string, handle }),
        get: async () => {
          server.calls++;
          return server.reply;
        },
        cancel: async () => {
          server.cancels++;
          return { kind: 'done' };
        },
        watch: async () => {
          server.watches++;
        },
      };
      const deps = {
        states: new ServerStates(table),
        clock,
        random: { fraction: () => jitter, hex: () => `holder ${++holders}` },
        delay: (delayMs: number, signal?: AbortSignal) => clock.delay(delayMs, signal),
        log,
      };
      return protectTransports({ get: () => inner }, () => limits, deps).get('reports');
    },
    pass: (ms: number) => {
      clock.moveTo(clock.nowMs() + ms);
    },
  };
  return server;
}

/** Reads as the engine does: returns the kind of reply, or how long the read was held back. */
async function read(worker: RemoteTaskTransport, clock: VirtualClock): Promise<PollReply['kind'] | number> {
  const admission = await worker.admit!('read');
  if (admission.kind === 'held') return admission.untilMs - clock.nowMs();
  const { kind } = await worker.get(handle);
  await admission.leave();
  return kind;
}

const many = async <Value>(times: number, work: () => Promise<Value>): Promise<readonly Value[]> => {
  const all: Value[] = [];
  for (let round = 0; round < times; round++) all.push(await work());
  return all;
};

describe('a server in good health', () => {
  it('GB-29: costs no write, and one read for as long as it answers', async () => {
    const server = aServer();
    const worker = server.worker();
    await many(100, async () => {
      server.pass(1_000);
      return read(worker, server.clock);
    });
    expect([server.calls, server.reads(), server.writes]).toEqual([100, 1, []]);
  });

  it.each([
    [
      'an unknown task',
      { kind: 'missing', error: { code: 'REMOTE_UNREACHABLE', message: 'x', details: { status: 200, code: -32602 } } },
    ],
    ['404', failing(404)],
    ['401', failing(401)],
    [
      'a reply that breaks the protocol',
      { kind: 'unreadable', error: { code: 'REMOTE_PROTOCOL_VIOLATION', message: 'x' } },
    ],
    ['a request of ours that is not sent', { kind: 'unreadable', error: { code: 'CONFIG_INVALID', message: 'x' } }],
  ] as const)('is not left alone for %s', async (_name, reply) => {
    const server = aServer();
    const worker = server.worker();
    server.reply = reply;
    expect(new Set(await many(50, () => read(worker, server.clock)))).toEqual(new Set([reply.kind]));
    expect(server.writes).toEqual([]);
  });
});

describe('the breaker of a server', () => {
  it.each([
    ['no answer', failing()],
    ['503', failing(503)],
    ['500', failing(500)],
    ['429', failing(429)],
  ])('GB-29: opens after ten failures in a row over all workers (%s)', async (_name, reply) => {
    const server = aServer();
    const workers = [server.worker(), server.worker()] as const;
    server.reply = reply;
    await many(5, async () => {
      for (const worker of workers) expect(await read(worker, server.clock)).toBe('unreadable');
    });
    // The other worker reads again after 5 s.
    server.pass(5_000);
    expect(await read(workers[0], server.clock)).toBe(25_000);
    expect(await read(workers[1], server.clock)).toBe(25_000);
    expect(server.calls).toBe(10);
  });

  it('does not open when one request in between succeeds', async () => {
    const server = aServer();
    const worker = server.worker();
    await many(5, async () => {
      server.reply = failing();
      await many(9, () => read(worker, server.clock));
      server.reply = working;
      await read(worker, server.clock);
    });
    expect(server.calls).toBe(50);
    expect(server.logged).toEqual([]);
  });

  it('does not open for failures that are far apart', async () => {
    const server = aServer();
    const worker = server.worker();
    server.reply = failing();
    await many(30, async () => {
      server.pass(300_001);
      expect(await read(worker, server.clock)).toBe('unreadable');
    });
  });

  it('lets one request through when its time is over, and closes when that one is answered', async () => {
    const server = aServer();
    const [first, second] = [server.worker(), server.worker()];
    server.reply = failing();
    await many(10, () => read(first, server.clock));
    server.pass(30_000);
    const probe = await first.admit!('read');
    expect(probe.kind).toBe('admitted');
    expect(await read(second, server.clock)).toBe(15_000);
    server.reply = working;
    await first.get(handle);
    server.pass(5_000);
    expect(await read(second, server.clock)).toBe('working');
    expect(server.logged).toEqual(['remote server is left alone', 'remote server answers again']);
  });

  it('stays open for twice as long after each probe that fails, up to five minutes', async () => {
    const server = aServer();
    const worker = server.worker();
    server.reply = failing();
    await many(10, () => read(worker, server.clock));
    const holds: number[] = [];
    await many(6, async () => {
      const held = await read(worker, server.clock);
      holds.push(Number(held));
      server.pass(Number(held));
      expect(await read(worker, server.clock)).toBe('unreadable');
    });
    expect(holds).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
    expect(server.calls).toBe(16);
  });

  it('gives the probe to another when the process that had it is gone', async () => {
    const server = aServer();
    const worker = server.worker();
    server.reply = failing();
    await many(10, () => read(worker, server.clock));
    server.pass(30_000);
    await server.worker().admit!('read');
    server.pass(34_999);
    expect(typeof (await read(worker, server.clock))).toBe('number');
    server.pass(1);
    server.reply = working;
    expect(await read(worker, server.clock)).toBe('working');
  });

  it('puts off cancels without sending them, and does not take the probe for one', async () => {
    const server = aServer();
    const worker = server.worker();
    server.reply = failing();
    await many(10, () => read(worker, server.clock));
    expect(await worker.cancel(handle)).toEqual({
      kind: 'retry',
      error: {
        code: 'REMOTE_UNREACHABLE',
        message: '"reports" is left alone for now: its last requests have all failed',
        details: { server: 'reports', held: true },
      },
    });
    expect(server.cancels).toBe(0);
    server.pass(30_000);
    expect(await worker.cancel(handle)).toEqual({ kind: 'done' });
  });

  it('is not watched while it is left alone', async () => {
    const server = aServer();
    const worker = server.worker();
    const watch = () => worker.watch!(handle, () => undefined, new AbortController().signal);
    server.reply = failing();
    await many(10, () => read(worker, server.clock));
    await watch();
    expect(server.watches).toBe(0);
    server.pass(60_000);
    await watch();
    expect(server.watches).toBe(1);
  });

  it('learns nothing from requests that were sent before it opened', async () => {
    const server = aServer();
    const worker = server.worker();
    server.reply = failing();
    await many(10, () => read(worker, server.clock));
    const writes = server.writes.length;
    await many(20, () => worker.get(handle));
    expect(server.writes.length).toBe(writes);
    expect(server.logged).toEqual(['remote server is left alone']);
  });

  it('spreads out those whom it holds', async () => {
    const server = aServer({}, { jitter: 0.5 });
    const worker = server.worker();
    server.reply = failing();
    await many(10, () => read(worker, server.clock));
    expect(await read(worker, server.clock)).toBe(33_750);
  });

  it('opens after as many failures and for as long as configured, or never', async () => {
    const server = aServer({ breaker: { failures: 2, openFor: { seconds: 3 } } });
    const worker = server.worker();
    server.reply = failing();
    expect(await many(3, () => read(worker, server.clock))).toEqual(['unreadable', 'unreadable', 3_000]);
    const open = aServer({ breaker: false });
    open.reply = failing();
    const other = open.worker();
    expect(new Set(await many(50, () => read(other, open.clock)))).toEqual(new Set(['unreadable']));
    expect(open.writes).toEqual([]);
  });

  it('lets requests through while the store is away', async () => {
    const server = aServer();
    const worker = server.worker();
    server.away(true);
    server.reply = failing();
    expect(new Set(await many(20, () => read(worker, server.clock)))).toEqual(new Set(['unreadable']));
    expect(server.calls).toBe(20);
  });
});

describe('Retry-After of a server', () => {
  it('B065: holds all requests of all workers for as long as it says, up to five minutes', async () => {
    const server = aServer();
    const [first, second] = [server.worker(), server.worker()];
    server.reply = failing(429, 120_000);
    await read(first, server.clock);
    expect([await read(first, server.clock), await read(second, server.clock)]).toEqual([120_000, 120_000]);
    server.pass(120_000);
    server.reply = failing(503, 3_600_000);
    await read(second, server.clock);
    expect(await read(second, server.clock)).toBe(300_000);
    expect(server.calls).toBe(2);
  });

  it('is for the one request where the status says nothing of the server', async () => {
    const server = aServer();
    const worker = server.worker();
    server.reply = failing(500, 120_000);
    await read(worker, server.clock);
    expect(await read(worker, server.clock)).toBe('unreadable');
  });
});

describe('limits across workers', () => {
  it('GB-29: at most so many requests in a minute', async () => {
    const server = aServer({ perMinute: 3 });
    const workers = [server.worker(), server.worker()] as const;
    server.clock.moveTo(1_020_000);
    expect(await many(2, () => read(workers[0], server.clock))).toEqual(['working', 'working']);
    expect(await many(2, () => read(workers[1], server.clock))).toEqual(['working', 60_000]);
    server.pass(60_000);
    expect(await read(workers[1], server.clock)).toBe('working');
  });

  it('GB-29: at most so many requests at a time, and those of a process that is gone end with their lease', async () => {
    const server = aServer({ concurrency: 2 });
    const [first, second] = [server.worker(), server.worker()];
    const one = await first.admit!('read');
    const two = await second.admit!('start');
    expect([one.kind, two.kind, await read(second, server.clock)]).toEqual(['admitted', 'admitted', 5_000]);
    if (one.kind === 'admitted') await one.leave();
    // A worker that was refused asks again after a second.
    server.pass(1_000);
    expect(await read(second, server.clock)).toBe('working');
    await second.admit!('read');
    expect(await read(second, server.clock)).toBe(5_000);
    server.pass(60_000);
    expect(await read(second, server.clock)).toBe('working');
  });
});

describe('starts of one worker', () => {
  it('GB-29: eight at a time; the next wait two seconds, and are put off at once when nothing moves', async () => {
    const server = aServer();
    const worker = server.worker();
    const inside = await many(8, () => worker.admit!('start'));
    expect(inside.map(({ kind }) => kind)).toEqual(Array(8).fill('admitted'));
    const waiting = Array.from({ length: 2 }, () => worker.admit!('start'));
    const [first] = inside;
    await Promise.resolve();
    if (first?.kind === 'admitted') await first.leave();
    expect((await waiting[0])?.kind).toBe('admitted');
    server.pass(2_000);
    expect(await waiting[1]).toMatchObject({ kind: 'held', untilMs: 1_007_000 });
    expect((await worker.admit!('start')).kind).toBe('held');
    expect(await read(worker, server.clock)).toBe('working');
    // A caller that was refused keeps no slot.
    const [, second] = inside;
    if (second?.kind === 'admitted') await second.leave();
    expect((await worker.admit!('start')).kind).toBe('admitted');
  });
});
