import { pollHandler } from '../lib/aws/poll-handler.js';
import { queues as queueTopology } from '../lib/topology/topology.js';
import { turnHandler } from '../lib/aws/turn-handler.js';
import { system } from '../lib/process/system.js';
import { EventSource } from '../lib/local/event-source.js';
import { LocalLambda } from '../lib/local/local-lambda.js';
import type { Deps } from '../lib/operations/deps.js';
import { MemoryQueues } from '../lib/queue/memory-queues.js';
import type { RemoteTransports } from '../lib/remote/transport.js';
import { RunStore } from '../lib/store/run-store.js';
import type { Table } from '../lib/store/table.js';
import type { AnyWorkflow } from '../lib/workflow/define-workflow.js';
import { benchDeps } from './deps.js';

export interface LocalEngine {
  readonly deps: Deps;
  /** Resolves when no turn is requested or in progress. */
  idle(): Promise<void>;
  stop(): void;
}

/** The concurrency of local mode on a laptop. */
const concurrency = 16;

/**
 * Starts the parts of local mode between a queue and the handlers, on the real clock: event sources, invocations,
 * turns.
 */
export function startLocalEngine(options: {
  readonly workflow: AnyWorkflow;
  readonly table: Table;
  readonly transports: RemoteTransports;
}): LocalEngine {
  const lambda = new LocalLambda();
  const sources: EventSource[] = [];
  let whenIdle: (() => void) | undefined;
  const queues = new MemoryQueues({
    turn: queueTopology.turn,
    work: queueTopology.work,
    step: queueTopology.step,
    clock: system.clock,
    onChange: () => {
      for (const source of sources) source.wake();
      if (queues.turn.size === 0) whenIdle?.();
    },
  });
  const deps: Deps = {
    ...benchDeps(options.workflow),
    store: new RunStore(options.table),
    transports: options.transports,
    queues,
  };
  const turn = turnHandler(() => deps);
  const poll = pollHandler(() => deps);
  const shared = { batchSize: 1, maxConcurrency: concurrency, clock: system.clock, log: deps.log };
  sources.push(
    new EventSource({
      ...shared,
      name: 'turn.fifo',
      queue: queues.turn,
      invoke: (event) => lambda.invoke('turn', (context) => turn(event, context)),
    }),
    new EventSource({
      ...shared,
      name: 'work',
      queue: queues.work,
      invoke: (event) => lambda.invoke('poll', (context) => poll(event, context)),
    }),
  );
  return {
    deps,
    idle: () =>
      new Promise((resolve) => {
        if (queues.turn.size === 0) resolve();
        else whenIdle = resolve;
      }),
    stop: () => {
      for (const source of sources) source.stop();
    },
  };
}
