import { defined } from '../../lib/base/defined.js';
import { createTasks } from '../../lib/operations/serve/tasks.js';
import type { Push, PushSender } from '../../lib/remote/push-sender.js';
import { RunStore } from '../../lib/store/run-store.js';
import type { AnyWorkflow } from '../../lib/workflow/define-workflow.js';
import type { ServeConfig } from '../../lib/workflow/serve.js';
import { type Capacity, CapacityMeter, unitsOf } from '../capacity.js';
import { figure, type Figure } from '../figure.js';
import { scriptedRemote } from '../remote.js';
import type { Database } from '../stores.js';
import { VirtualEngine } from '../virtual-engine.js';
import { steps, talks, ticks } from './served-app.js';

export interface ServedCost {
  /** From the message until the task is told to be working. */
  readonly send: Capacity;
  /** From there on until nothing of the task is left to do. */
  readonly rest: Capacity;
  /** A read of the ended task. */
  readonly read: Capacity;
  readonly readMs: number;
  /** Pushes that were sent. */
  readonly pushes: number;
}

/** A skill to call, and whether the message asks for pushes. */
interface Served {
  readonly workflow: AnyWorkflow;
  readonly given: object;
  readonly pushed?: boolean;
}

/** Counts what a served task costs in the table; its first turn begins with the message's wake, as on AWS. */
export async function costOfServed(database: Database, { workflow, given, pushed }: Served): Promise<ServedCost> {
  const { table, tableName, client } = await database.openTable();
  const { table: unmetered } = await database.openTable(tableName);
  const meter = new CapacityMeter(client);
  const store = meter.name(new RunStore(table));
  const pushes: Push[] = [];
  const pushSender: PushSender = {
    allows: async () => true,
    send: async (push) => {
      pushes.push(push);
      return { kind: 'answered', status: 200 };
    },
  };
  const engine = new VirtualEngine({ workflow, store, unmetered, transports: scriptedRemote({}), pushSender });
  const { name } = workflow;
  const serve: ServeConfig = {
    agent: { name: 'Bench', description: 'Serves the benchmark.' },
    skills: { [name]: { description: 'Serves the benchmark.' } },
  };
  const tasks = createTasks({ ...engine.deps, caller: { id: 'bench', roles: ['call'] } }, serve);
  const message = { messageId: 'm1', role: 'user', parts: [] } as const;
  const push = pushed === true ? { url: 'https://receiver.example.com/', wire: '1.0' as const } : undefined;
  const { taskId } = await tasks.send({ message, skill: name, arguments: given as never, ...defined({ push }) });
  const send = meter.take();
  await engine.settleDown();
  const rest = meter.take();
  const beganMs = performance.now();
  const { status } = await tasks.read(taskId);
  const readMs = performance.now() - beganMs;
  if (status.state !== 'completed') throw new Error(`the task is ${status.state}`);
  return { send, rest, read: meter.take(), readMs, pushes: pushes.length };
}

/** Counts a task of ten steps, and reads one of 10,000 events. */
export async function countServed(database: Database): Promise<readonly Figure[]> {
  const ten = await costOfServed(database, { workflow: steps, given: { count: 10 } });
  const long = await costOfServed(database, { workflow: talks, given: { count: 10_000 } });
  const told = { workflow: ticks, given: { count: 10, everyMs: 0 } };
  const unpushed = await costOfServed(database, told);
  const pushed = await costOfServed(database, { ...told, pushed: true });
  const eachPush = (of: (cost: ServedCost) => number): number => (of(pushed) - of(unpushed)) / pushed.pushes;
  return [
    figure('served.start.writeRequests', ten.send.writes.requests, 'requests', { atMost: 1 }),
    figure('served.start.readRequests', ten.send.reads.requests, 'requests'),
    figure('served.10steps.writeRequests', ten.rest.writes.requests, 'requests'),
    figure('served.10steps.writeUnits', unitsOf(ten.rest.writes), 'write units'),
    figure('served.10steps.getTask.requests', ten.read.reads.requests, 'requests', { atMost: 1 }),
    figure('served.10steps.getTask.units', ten.read.reads.tableUnits, 'read units', { atMost: 8 }),
    figure('served.pushes', pushed.pushes, 'pushes'),
    ...[
      figure(
        'served.push.writeUnits',
        eachPush(({ rest }) => unitsOf(rest.writes)),
        'write units',
      ),
      figure(
        'served.push.readUnits',
        eachPush(({ rest }) => unitsOf(rest.reads)),
        'read units',
      ),
    ],
    figure('served.10000events.getTask.requests', long.read.reads.requests, 'requests'),
    figure('served.10000events.getTask.units', long.read.reads.tableUnits, 'read units'),
    figure('served.10000events.getTask.took', long.readMs, 'ms', { atMost: 25_000 }),
  ];
}
