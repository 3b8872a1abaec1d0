// A program: prints `ready`, waits for the end of its input, settles one token many times at once, and prints the
// answers as JSON.

import { once } from 'node:events';
import { system } from '../../lib/process/system.js';
import { settleToken } from '../../lib/operations/requests/settle-token.js';
import { GuardedHttpClient } from '../../lib/remote/http/http.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { defineApp } from '../../lib/workflow/app.js';
import { createEngineDeps } from './engine-deps.js';

/** Passed as JSON in the first argument. */
export interface SettleProcessOptions {
  readonly endpoint: string;
  readonly tableName: string;
  readonly token: string;
  /** Number of times to settle it. */
  readonly times: number;
  readonly nowMs: number;
}

const { endpoint, tableName, token, times, nowMs } = JSON.parse(process.argv[2] ?? '') as SettleProcessOptions;
const deps = createEngineDeps({
  app: defineApp({ workflows: [] }),
  table: new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system }),
  clock: { nowMs: () => nowMs },
  http: new GuardedHttpClient(),
});

process.stdout.write('ready\n');
process.stdin.resume();
await once(process.stdin, 'end');
const answers = await Promise.all(
  Array.from({ length: times }, (_, at) =>
    settleToken(deps, { token, outcome: { kind: 'completed', result: { process: process.pid, at }, isError: false } }),
  ),
);
process.stdout.write(`${JSON.stringify(answers)}\n`);
process.exit(0);
