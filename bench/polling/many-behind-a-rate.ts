import type { EpochMs } from '../../lib/base/time.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import type { RemoteTaskTransport } from '../../lib/remote/transport.js';
import { MemoryTable } from '../../lib/store/memory/memory-table.js';
import { defineApp, mcpServer } from '../../lib/workflow/app.js';
import { defineWorkflow } from '../../lib/workflow/define-workflow.js';
import { CountingTable } from '../counting-table.js';
import { Fleet } from './fleet.js';

export interface BehindRate {
  /** Writes after the calls were in their logs: of holding back, starting and reading. */
  readonly writes: number;
  /** Writes that created the runs and recorded their calls, limit or not. */
  readonly writesBefore: number;
  /** Minutes after which each call was started, and each read made. */
  readonly startsAtMin: readonly number[];
  readonly readsAtMin: readonly number[];
}

/** Starts `calls` runs, each with a call of one server that takes `perMinute` requests, and lets time pass. */
export async function manyBehindRate(options: {
  readonly calls: number;
  readonly perMinute: number;
  readonly minutes: number;
  /** Time between two starts of runs. */
  readonly apartMs: number;
  readonly skewMsOf?: (process: number) => number;
}): Promise<BehindRate> {
  const workflow = defineWorkflow({
    name: 'waits',
    run: async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export' })).result,
  });
  const limits = { perMinute: options.perMinute };
  const app = defineApp({
    workflows: [workflow],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp', limits }) },
  });
  const startsAtMs: EpochMs[] = [];
  const readsAtMs: EpochMs[] = [];
  const table = new CountingTable(new MemoryTable());
  const fleet: Fleet = new Fleet({
    app,
    table,
    ...(options.skewMsOf === undefined ? {} : { skewMsOf: options.skewMsOf }),
    transports: (clock) => {
      const transport: RemoteTaskTransport = {
        protocol: 'mcp',
        dedupes: true,
        problemWith: () => undefined,
        answersAtOnce: async () => true,
        start: async () => {
          startsAtMs.push(clock.nowMs());
          await clock.delay(50);
          const taskId = `task-${startsAtMs.length}`;
          return {
            kind: 'started',
            state: 'working',
            handle: { server: 'reports', protocol: 'mcp', wire: 'bench', taskId },
          };
        },
        get: async () => {
          readsAtMs.push(clock.nowMs());
          await clock.delay(50);
          return { kind: 'working', state: 'working' };
        },
        cancel: async () => ({ kind: 'done' }),
      };
      return { get: () => transport };
    },
  });
  await fleet.load();
  const beganAtMs = fleet.clock.nowMs();
  for (let call = 0; call < options.calls; call++)
    fleet.clock.at(beganAtMs + call * options.apartMs, () => void startRun(fleet.deps, { workflow: 'waits' }));
  await fleet.runUntil(beganAtMs + options.minutes * 60_000 - 1);
  const inMinutes = (instants: readonly EpochMs[]): number[] => instants.map((atMs) => (atMs - beganAtMs) / 60_000);
  const writesBefore = 2 * options.calls;
  return {
    writes: table.writes - writesBefore,
    writesBefore,
    startsAtMin: inMinutes(startsAtMs),
    readsAtMin: inMinutes(readsAtMs),
  };
}
