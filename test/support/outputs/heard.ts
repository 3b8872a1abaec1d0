// Hears the output of the engine in this process. Nothing is replaced: what passes a sink is noted on its way.

import { createHash } from 'node:crypto';
import { createMetrics } from '../../../lib/aws/metrics.js';
import type { Log } from '../../../lib/base/log.js';
import type { Metrics } from '../../../lib/base/metrics.js';
import type { LifecycleEvent } from '../../../lib/history/lifecycle-event.js';
import type { Spans, Work } from '../../../lib/operations/spans.js';
import type { Listeners } from '../../../lib/testing/test-deps.js';
import { createLog } from '../../../lib/process/log.js';
import { toSpan } from '../../../lib/tracing/span-records.js';
import { Outputs } from './outputs.js';
import { root, type Sink, sinksKey } from './sinks.js';

export const outputs = new Outputs(root);

/** Writes lines as a deployment does. */
const lineLog = createLog({
  level: 'debug',
  destination: {
    write: (line) => {
      outputs.hear('log', line);
    },
  },
});

const lineMetrics = createMetrics({
  table: 'outwait',
  version: { functionName: 'Outwait-Turn', version: '1' },
  clock: { nowMs: () => 0 },
  write: (line) => {
    outputs.hear('metric', line);
  },
});

/** Returns a log whose lines are heard as a deployment writes them, and passed on to `log` as they come. */
export function heardLog(log: Log): Log {
  const write =
    (level: keyof Log): Log['info'] =>
    (event, fields) => {
      lineLog[level](event, fields);
      log[level](event, fields);
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

type Put = Parameters<Metrics['put']>;

/** Returns metrics that are heard, and passed on to `metrics`. */
export function heardMetrics(metrics?: Pick<Metrics, 'put' | 'flush'>): Metrics {
  const put = (...given: Put): void => {
    lineMetrics.put(...given);
    lineMetrics.flush?.();
    metrics?.put(...given);
  };
  return { put: put as Metrics['put'], flush: () => metrics?.flush?.() };
}

function hearEvents(events: readonly LifecycleEvent[]): void {
  for (const event of events) outputs.hear('event', JSON.stringify(event));
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

function hearWork(work: Work): void {
  const span = toSpan(digest, work);
  if (span !== undefined) outputs.hear('trace', JSON.stringify(span));
}

const heardSpans: Spans = { record: hearWork, flush: () => Promise.resolve() };

/** A class whose methods are listened to. */
interface Listened {
  readonly prototype: object;
}
type Listener = (given: readonly unknown[], result: unknown, self: unknown) => void;

/** Tells `listener` of each call of a method, and of its result when there is one. A call that fails is not told. */
function listen({ prototype }: Listened, method: string, listener: Listener): void {
  const methods = prototype as Record<string, (...given: unknown[]) => unknown>;
  const inner = methods[method];
  if (inner === undefined) throw new Error(`there is no method ${method} to listen to`);
  methods[method] = function (this: unknown, ...given) {
    const result = inner.apply(this, given);
    if (result instanceof Promise)
      result.then(
        (value) => {
          listener(given, value, this);
        },
        () => undefined,
      );
    else listener(given, result, this);
    return result;
  };
}

/** Tells `listener` of each call before it is made. */
function listenBefore(
  { prototype }: Listened,
  method: string,
  listener: (given: readonly unknown[], self: unknown) => void,
): void {
  const methods = prototype as Record<string, (...given: unknown[]) => unknown>;
  const inner = methods[method];
  if (inner === undefined) throw new Error(`there is no method ${method} to listen to`);
  methods[method] = function (this: unknown, ...given) {
    listener(given, this);
    return inner.apply(this, given);
  };
}

function noteTask(reply: unknown): void {
  const { handle, end } = (reply ?? {}) as { readonly handle?: Named; readonly end?: Named };
  for (const taskId of [handle?.taskId, end?.taskId]) if (typeof taskId === 'string') outputs.addTaskId(taskId);
}
interface Named {
  readonly taskId?: unknown;
}

function listenToTasks(transport: unknown, methods: readonly string[]): void {
  for (const method of methods)
    listen(transport as Listened, method, (_given, reply) => {
      noteTask(reply);
    });
}

/** What is done with each sink when its module is loaded. */
const listenTo: Readonly<Record<Sink, (sink: unknown) => void>> = {
  silentLog: (log) => void Object.assign(log as Log, heardLog({ ...(log as Log) })),
  EventBridgeBus: (bus) => {
    listenBefore(bus as Listened, 'publish', ([events]) => {
      hearEvents(events as readonly LifecycleEvent[]);
    });
  },
  MemoryBus: (bus) => {
    listenBefore(bus as Listened, 'publish', ([events]) => {
      hearEvents(events as readonly LifecycleEvent[]);
    });
  },
  Outbox: (outbox) => {
    listenBefore(outbox as Listened, 'publish', (_given, self) => {
      hearEvents((self as { readonly events: readonly LifecycleEvent[] }).events);
    });
  },
  BufferedSpans: (spans) => {
    listenBefore(spans as Listened, 'record', ([work]) => {
      hearWork(work as Work);
    });
  },
  listeners: (listeners) => {
    Object.assign(listeners as Listeners, { log: heardLog, metrics: heardMetrics, spans: heardSpans });
  },
  TokenKeys: (keys) => {
    listen(keys as Listened, 'settleToken', (_given, token) => {
      outputs.addToken(String(token));
    });
    listen(keys as Listened, 'pushToken', (_given, made) => {
      const { token, secret } = made as { readonly token: string; readonly secret: string };
      outputs.addToken(token);
      outputs.addToken(secret);
    });
  },
  McpTransport: (transport) => {
    listenToTasks(transport, ['start', 'adopt']);
  },
  A2aTransport: (transport) => {
    listenToTasks(transport, ['start', 'find', 'adopt']);
  },
  ScriptedServer: (server) => {
    listenToTasks(server, ['start', 'find', 'adopt']);
  },
  Starts: (starts) => {
    listenBefore(starts as Listened, 'storeHandle', ([, , started]) => {
      noteTask(started);
    });
  },
  UnwantedTasks: (tasks) => {
    listenBefore(tasks as Listened, 'leaveHandle', ([, , handle]) => {
      noteTask({ handle });
    });
  },
};

const shown = ((globalThis as Record<symbol, unknown>)[Symbol.for(sinksKey)] ??= []) as [Sink, unknown][];
for (const [name, sink] of shown.splice(0)) listenTo[name](sink);
shown.push = (...added) => {
  for (const [name, sink] of added) listenTo[name](sink);
  return 0;
};
