import { defined } from '../base/defined.js';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apiHandler } from '../aws/api-handler.js';
import { pollHandler } from '../aws/poll-handler.js';
import { scheduleHandler } from '../aws/schedule-handler.js';
import { stepHandler } from '../aws/step-handler.js';
import { type OutsideRead, unwatchedLog, watchOutsideReads } from '../process/outside-reads.js';
import { hasHeapToSpare, system } from '../process/system.js';
import { type FunctionName, queues as queueTopology, type QueueTopology } from '../topology/topology.js';
import { turnHandler } from '../aws/turn-handler.js';
import { EngineError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import type { Log } from '../base/log.js';
import type { EventBus } from '../bus/event-bus.js';
import { isPreflight, preflightAnswer, readableFor, requireLoopback } from '../http/access.js';
import { json, problemResponse } from '../http/problem.js';
import type { Deps } from '../operations/deps.js';
import { rehearse } from '../operations/rehearse.js';
import { WarmRuns } from '../operations/warm-runs.js';
import { MemoryQueues } from '../queue/memory-queues.js';
import { KeySets } from '../remote/auth/key-sets.js';
import { GuardedHttpClient } from '../remote/http/http.js';
import { lazyMessenger } from '../remote/people/lazy-messenger.js';
import { lazyPushSender } from '../remote/push/lazy-push-sender.js';
import { guardedTransports } from '../remote/wiring/guarded-transports.js';
import { awsSecrets } from '../secrets/aws-secrets.js';
import { SecretReader } from '../secrets/secret-reader.js';
import type { PayloadCipher } from '../store/cipher.js';
import { RunStore } from '../store/run-store.js';
import { SealedTable } from '../store/sealed-table.js';
import type { Table } from '../store/table.js';
import type { TokenKeys } from '../tokens/token-keys.js';
import { BufferedSpans } from '../tracing/buffered-spans.js';
import type { App } from '../workflow/app.js';
import { toRequest, toResult } from '../aws/http-event.js';
import { createGateway, type Invoke, type ServedDoors } from './api-gateway.js';
import { EventSource } from './event-source.js';
import { type FunctionStats, LocalLambda } from './local-lambda.js';
import { startSchedule } from './minute-timer.js';
import { answerAsStream, isServed } from './rest-gateway.js';

export interface LocalEngineOptions {
  readonly app: App;
  readonly table: Table;
  readonly tokens: TokenKeys;
  /** Encrypts payloads. Default: none. */
  readonly cipher?: PayloadCipher;
  /** Receives lifecycle events. Default: none. */
  readonly bus?: EventBus;
  readonly log: Log;
  /** Port to listen on; 0 picks a free one. */
  readonly port: number;
  /** Bearer token of the management routes. Default: none, which opens them to this machine. */
  readonly managementToken?: string;
  /** Origins, beside its own, whose pages may use the API. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** URL under which others reach this machine, such as that of a tunnel. Default: its own. */
  readonly publicUrl?: string;
  /**
   * Whether each turn is replayed as another process would, and reads of the clock, chance and environment by the code of
   * workflows are logged. Default: no.
   */
  readonly checksCode?: boolean;
  /** Streams to callers of served workflows, and their waits, that may be open at once. Default 100. */
  readonly streamsMax?: number;
}

export interface LocalEngine {
  readonly url: string;
  stats(): Readonly<Record<FunctionName, FunctionStats>>;
  /** Stops accepting requests and messages, waits at most 10 s for what is in flight, and closes. */
  stop(): Promise<void>;
}

const host = '127.0.0.1';
const stopMaxMs = 10_000;
/** Concurrent turns. They mostly wait for a remote server or the table, so a hanging one must not block the others. */
const concurrencyMax = 64;
/** Concurrent starts: as many as in full batches of a deployment, since a start only waits for its server. */
const startsMax = queueTopology.start.eventSource.batchSize * queueTopology.start.eventSource.maxConcurrency;

/**
 * Runs the functions of a deployment in this process: the same handlers get the same kinds of events, from queues in
 * memory, and use the given table. Listens on this machine only.
 * @throws EngineError `CONFIG_INVALID` if the port is in use
 */
export async function startLocalEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  const { log, managementToken, allowedOrigins = [] } = options;
  const lambda = new LocalLambda();
  const sources: EventSource[] = [];
  const queues = new MemoryQueues({
    turn: queueTopology.turn,
    work: queueTopology.work,
    step: queueTopology.step,
    start: queueTopology.start,
    slow: queueTopology.slow,
    clock: system.clock,
    onChange: () => {
      for (const source of sources) source.wake();
    },
  });
  let deps = createLocalDeps(options, queues);
  const getDeps = (): Deps => deps;

  const api = apiHandler(getDeps, {
    loopbackOnly: true,
    allowedOrigins,
    ...defined({ publicUrl: options.publicUrl }),
    ...defined({ managementTokens: managementToken === undefined ? undefined : () => [managementToken] }),
  });
  const stopped = new AbortController();
  const server = createGateway(
    withStats(lambda, { log, allowedOrigins }, (event) => lambda.invoke('api', () => api(event))),
    log,
    servedDoors({ getDeps, lambda, stopped: stopped.signal }, options),
  );
  // Listens first: a second engine must not run a single turn.
  await listen(server, options.port);
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;
  deps = { ...deps, publicUrl: options.publicUrl ?? url };

  sources.push(...createSources({ lambda, queues, getDeps, log }));
  const sweep = scheduleHandler(getDeps, { isAlone: true });
  const stopSchedule = startSchedule((event) => lambda.invoke('schedule', () => sweep(event)), log);

  return {
    url,
    stats: () => lambda.stats(),
    stop: async () => {
      stopSchedule();
      stopped.abort();
      for (const source of sources) source.stop();
      await close(server, lambda);
    },
  };
}

/** Returns the doors of served workflows; undefined if the app serves none. */
function servedDoors(
  { getDeps, lambda, stopped }: Pick<SourceParts, 'getDeps' | 'lambda'> & { readonly stopped: AbortSignal },
  { app, managementToken, allowedOrigins = [], streamsMax }: LocalEngineOptions,
): ServedDoors | undefined {
  if (app.serve === undefined) return undefined;
  const load = lazy(async () => {
    const { serveHandler } = await import('../aws/serve-handler.js');
    return serveHandler(getDeps, {
      ...{ loopbackOnly: true, allowedOrigins },
      ...defined({ managementTokens: managementToken === undefined ? undefined : () => [managementToken], streamsMax }),
    });
  });
  return {
    takes: isServed,
    answer: async (request, body, response) => {
      const serve = await load();
      await lambda.invoke('serve', () => answerAsStream(serve, request, body, { response, stopped }));
    },
  };
}

interface SourceParts {
  readonly lambda: LocalLambda;
  readonly queues: MemoryQueues;
  readonly getDeps: () => Deps;
  readonly log: Log;
}

/** Feeds the functions from the queues, as the event sources of a deployment do. */
function createSources({ lambda, queues, getDeps, log }: SourceParts): readonly EventSource[] {
  const turn = turnHandler(getDeps);
  const poll = pollHandler(getDeps);
  const step = stepHandler(getDeps);
  const shared = { clock: system.clock, log };
  return [
    new EventSource({
      ...shared,
      name: 'turn.fifo',
      queue: queues.turn,
      ...paceOf(queueTopology.turn),
      invoke: (event) => lambda.invoke('turn', (context) => turn(event, context)),
    }),
    ...(['work', 'slow'] as const).map(
      (name) =>
        new EventSource({
          ...shared,
          name,
          queue: queues[name],
          ...paceOf(queueTopology[name]),
          invoke: (event) => lambda.invoke('poll', (context) => poll(event, context)),
        }),
    ),
    new EventSource({
      ...shared,
      name: 'step',
      queue: queues.step,
      ...paceOf(queueTopology.step),
      invoke: (event) => lambda.invoke('step', (context) => step(event, context)),
    }),
    new EventSource({
      ...shared,
      name: 'start',
      queue: queues.start,
      // Batches of one: in a larger batch, starts that wait for minutes would delay the others.
      batchSize: 1,
      maxConcurrency: startsMax,
      invoke: (event) => lambda.invoke('step', (context) => step(event, context)),
    }),
  ];
}

function paceOf({ eventSource: { batchSize, maxConcurrency } }: QueueTopology) {
  return { batchSize, maxConcurrency: Math.min(maxConcurrency, concurrencyMax) };
}

async function close(server: Server, lambda: LocalLambda): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  server.closeIdleConnections();
  await lambda.idle(stopMaxMs);
  server.closeAllConnections();
  await closed;
}

function createLocalDeps(
  { app, table, tokens, cipher, bus, log, checksCode = false }: LocalEngineOptions,
  queues: MemoryQueues,
): Deps {
  const http = new GuardedHttpClient({ allowLoopback: true });
  const readSecret = (name: string): string | undefined => process.env[name];
  const store = new RunStore(new SealedTable(table, cipher));
  const secrets = new SecretReader({ clock: system.clock, readSecret, aws: awsSecrets() });
  return {
    ...system,
    app,
    log: checksCode ? unwatchedLog(log) : log,
    tokens,
    queues,
    store,
    ...defined({
      bus,
      spans: app.tracing === undefined ? undefined : new BufferedSpans(app.tracing, { ...system, log }),
    }),
    ...(checksCode ? { rehearse, watch: watchOutsideReads(logOnce(log)) } : {}),
    warmRuns: new WarmRuns({ hasRoom: hasHeapToSpare }),
    keySets: new KeySets({ http, clock: system.clock }),
    secrets,
    messenger: lazyMessenger({ http, clock: system.clock, secrets }),
    pushSender: lazyPushSender({ allowLoopback: true, clock: system.clock }),
    transports: guardedTransports(app.servers, {
      ...system,
      http,
      readSecret,
      serverWords: store.servers,
      states: store.servers,
      log,
    }),
  };
}

/** Returns what logs each read once: a replay repeats it. */
function logOnce(log: Log): (read: OutsideRead) => void {
  const told = new Set<string>();
  return ({ runId, what, instead, place }) => {
    const key = `${what} ${place ?? ''}`;
    if (told.has(key)) return;
    told.add(key);
    log.warn('workflow code reads what is another at each replay', { runId, what, place, instead });
  };
}

/** Adds the route `GET /local/stats`: how often and how long each function ran in this process. */
function withStats(
  lambda: LocalLambda,
  { log, allowedOrigins }: { readonly log: Log; readonly allowedOrigins: readonly string[] },
  invoke: Invoke,
): Invoke {
  return async (event) => {
    const { method } = event.requestContext.http;
    if (event.rawPath !== '/local/stats' || (method !== 'GET' && method !== 'OPTIONS')) return invoke(event);
    try {
      const request = toRequest(event);
      const origin = requireLoopback(request, allowedOrigins);
      if (method === 'OPTIONS')
        return origin === undefined || !isPreflight(request)
          ? await invoke(event)
          : await toResult(preflightAnswer(origin));
      const answer = json(200, { functions: lambda.stats() });
      if (origin !== undefined) readableFor(origin, answer);
      return await toResult(answer);
    } catch (error) {
      return toResult(problemResponse(error, log));
    }
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? 'is in use; stop the process that uses it or choose another with --port'
          : `cannot be used (${error.code ?? 'unknown'})`;
      reject(new EngineError('CONFIG_INVALID', `port ${port} ${reason}`));
    });
    server.listen(port, host, () => {
      resolve();
    });
  });
}
