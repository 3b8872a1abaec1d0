import type { Deps } from '../operations/deps.js';
import { WarmRuns } from '../operations/warm-runs.js';
import { createSqsClient } from '../queue/sqs-client.js';
import { SqsQueues } from '../queue/sqs-queues.js';
import { GuardedHttpClient } from '../remote/http.js';
import { protectTransports } from '../remote/protection.js';
import { createTransports } from '../remote/transports.js';
import { createDynamoDbClient } from '../store/dynamodb/client.js';
import { DynamoDbTable } from '../store/dynamodb/dynamodb-table.js';
import { RunStore } from '../store/run-store.js';
import { SealedTable } from '../store/sealed-table.js';
import type { App } from '../workflow/app.js';
import type { Env } from './env.js';
import { createPayloadCipher, parseTokenKeys } from './keys.js';
import { createLog } from './log.js';
import { hasHeapToSpare, system } from './system.js';

/** What the operations need, from the services of AWS. @throws EngineError `CONFIG_INVALID` */
export function createDeps(env: Env, app: App): Deps {
  const log = createLog({ level: env.logLevel });
  const table = new DynamoDbTable({ client: createDynamoDbClient(), tableName: env.table, ...system });
  const readSecret = (name: string): string | undefined => process.env[name];
  const store = new RunStore(new SealedTable(table, createPayloadCipher(env, system.clock)));
  const transports = createTransports(app.servers, { ...system, http: new GuardedHttpClient(), readSecret, log });
  return {
    ...system,
    app,
    log,
    store,
    queues: new SqsQueues(createSqsClient(), {
      turn: env.turnQueueUrl,
      work: env.workQueueUrl,
      step: env.stepQueueUrl,
    }),
    transports: protectTransports(transports, (server) => app.servers[server]?.limits, {
      ...system,
      states: store.servers,
      log,
    }),
    tokens: parseTokenKeys(env.tokenKeys),
    warmRuns: new WarmRuns({ hasRoom: hasHeapToSpare }),
  };
}
