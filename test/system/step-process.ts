// A program: starts a run of a long step and works on it, prints `saved` when the first beat is in the table, and
// continues until it is killed.

import { system } from '../../lib/process/system.js';
import { runLongStep } from '../../lib/operations/steps/run-long-step.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import { startRun } from '../../lib/operations/requests/start-run.js';
import type { StepMessage } from '../../lib/queue/queue.js';
import { GuardedHttpClient } from '../../lib/remote/http/http.js';
import { createDynamoDbClient } from '../../lib/store/dynamodb/create-client.js';
import { DynamoDbTable } from '../../lib/store/dynamodb/dynamodb-table.js';
import { defineApp } from '../../lib/workflow/app.js';
import { createEngineDeps } from './engine-deps.js';
import { importWorkflow } from './import-workflow.js';

/** Passed as JSON in the first argument. */
export interface StepProcessOptions {
  readonly endpoint: string;
  readonly tableName: string;
  readonly startMs: number;
  readonly key: string;
}

/** Factor of the clock: a minute takes a second. */
const speed = 60;

const { endpoint, tableName, startMs, key } = JSON.parse(process.argv[2] ?? '') as StepProcessOptions;
const begunMs = performance.now();
const engine = createEngineDeps({
  app: defineApp({ workflows: [importWorkflow] }),
  table: new DynamoDbTable({ client: createDynamoDbClient({ endpoint }), tableName, ...system }),
  clock: { nowMs: () => Math.floor(startMs + (performance.now() - begunMs) * speed) },
  http: new GuardedHttpClient(),
});
const beatStep = engine.store.longSteps.beat.bind(engine.store.longSteps);
engine.store.longSteps.beat = async (...beat) => {
  const stands = await beatStep(...beat);
  process.stdout.write('saved\n');
  return stands;
};
const deps = { ...engine, delay: (delayMs: number, signal?: AbortSignal) => system.delay(delayMs / speed, signal) };
const limits = { remainingMs: () => 900_000 };

const { runId } = await startRun(deps, { workflow: importWorkflow.name, key });
await runTurn(deps, { runId }, limits);
const [message] = engine.queues.step.receive(1);
await runLongStep(deps, JSON.parse(message?.body ?? '') as StepMessage, limits);
