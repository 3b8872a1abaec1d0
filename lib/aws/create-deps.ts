import { defined } from '../base/defined.js';
import { lazyEventBridge } from '../bus/lazy-eventbridge.js';
import type { Deps } from '../operations/deps.js';
import { WarmRuns } from '../operations/warm-runs.js';
import { lazySqsQueues } from '../queue/lazy-queues.js';
import { lazyKeySets } from '../remote/auth/lazy-key-sets.js';
import { lazyMessenger } from '../remote/people/lazy-messenger.js';
import { lazyPushSender } from '../remote/push/lazy-push-sender.js';
import { lazyHttpClient } from '../remote/http/lazy-http.js';
import { guardedTransports } from '../remote/wiring/guarded-transports.js';
import { awsSecrets } from '../secrets/aws-secrets.js';
import { SecretReader } from '../secrets/secret-reader.js';
import { createDynamoDbClient } from '../store/dynamodb/create-client.js';
import { DynamoDbTable } from '../store/dynamodb/dynamodb-table.js';
import { RunStore } from '../store/run-store.js';
import { SealedTable } from '../store/sealed-table.js';
import { BufferedSpans } from '../tracing/buffered-spans.js';
import type { App } from '../workflow/app.js';
import type { Env } from '../topology/env.js';
import { createPayloadCipher } from './keys.js';
import { createLog } from '../process/log.js';
import { createMetrics } from './metrics.js';
import { hasHeapToSpare, system } from '../process/system.js';

/**
 * Creates what the operations need of AWS services, except for the token keys, which can change.
 * @throws EngineError `CONFIG_INVALID`
 */
export function createDeps(env: Env, app: App): Omit<Deps, 'tokens'> {
  const log = createLog({ level: env.logLevel });
  const table = new DynamoDbTable({ client: createDynamoDbClient(), tableName: env.table, ...system });
  const readSecret = (name: string): string | undefined => process.env[name];
  const metrics = createMetrics({ table: env.table, version: env.version, clock: system.clock });
  const { dueShards } = env;
  const http = lazyHttpClient();
  const store = new RunStore(new SealedTable(table, createPayloadCipher(env, system.clock)), { dueShards });
  const secrets = new SecretReader({ clock: system.clock, readSecret, aws: awsSecrets() });
  return {
    ...system,
    app,
    log,
    store,
    queues: lazySqsQueues({
      turn: env.turnQueueUrl,
      work: env.workQueueUrl,
      step: env.stepQueueUrl,
      start: env.startQueueUrl,
      slow: env.slowQueueUrl,
    }),
    secrets,
    messenger: lazyMessenger({ http, clock: system.clock, secrets }),
    pushSender: lazyPushSender({ clock: system.clock }),
    keySets: lazyKeySets({ http, clock: system.clock }),
    transports: guardedTransports(app.servers, {
      ...system,
      http,
      readSecret,
      serverWords: store.servers,
      states: store.servers,
      log,
      metrics,
    }),
    ...defined({ publicUrl: env.publicUrl, serveUrl: env.serveUrl }),
    ...defined({ bus: env.eventBus === undefined ? undefined : lazyEventBridge({ ...system, bus: env.eventBus }) }),
    metrics,
    ...defined({ spans: app.tracing === undefined ? undefined : new BufferedSpans(app.tracing, { ...system, log }) }),
    warmRuns: new WarmRuns({ hasRoom: hasHeapToSpare }),
  };
}
