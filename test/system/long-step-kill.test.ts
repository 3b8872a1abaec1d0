import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fanOutDue } from '../../lib/operations/sweep/fan-out-due.js';
import { runLongStep } from '../../lib/operations/steps/run-long-step.js';
import { runTurn } from '../../lib/operations/turn/run-turn.js';
import type { StepMessage, TurnMessage } from '../../lib/queue/queue.js';
import { GuardedHttpClient } from '../../lib/remote/http/http.js';
import { defineApp } from '../../lib/workflow/app.js';
import { openDynamoDbTable } from '../support/dynamodb-tables.js';
import { describeWithDynoxide, type Dynoxide, startDynoxide } from '../support/dynoxide.js';
import { createEngineDeps, tokens } from './engine-deps.js';
import { importWorkflow } from './import-workflow.js';
import { bundleProgram, type Program, startProgram } from './processes.js';
import type { StepProcessOptions } from './step-process.js';

const startMs = Date.UTC(2026, 10, 29, 10, 0, 0);
const limits = { remainingMs: () => 900_000 };

describeWithDynoxide('a worker of a long step that is killed', () => {
  let dynoxide: Dynoxide;
  let program: Program;
  beforeAll(async () => {
    dynoxide = await startDynoxide();
    program = await bundleProgram('step-process');
  });
  afterAll(async () => {
    await program.remove();
    await dynoxide.stop();
  });

  it('is made up for by another process, which goes on from the progress that was saved', async () => {
    const tableName = 'long-steps';
    const { table, client } = await openDynamoDbTable(dynoxide.endpoint, tableName);
    const options: StepProcessOptions = { endpoint: dynoxide.endpoint, tableName, startMs, key: 'k' };
    const { child, ended } = startProgram(program, options);
    await once(child.stdout!, 'data');
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ signal: 'SIGKILL', stderr: '' });

    let nowMs = startMs;
    const deps = createEngineDeps({
      app: defineApp({ workflows: [importWorkflow] }),
      table,
      clock: { nowMs: () => nowMs },
      http: new GuardedHttpClient(),
    });
    const runId = tokens.keyedRunId('import', 'k');
    const token = await deps.store.tokens.read(runId, '1');
    expect(token?.step).toMatchObject({ strikes: 1, failedAttempts: 0, progress: { row: 7 } });
    // The lease has run out.
    nowMs = token?.dueAtMs ?? 0;
    await fanOutDue(deps);
    const [step] = deps.queues.step.receive(10);
    expect(await runLongStep(deps, JSON.parse(step!.body) as StepMessage, limits)).toBe('settled');
    const [turn] = deps.queues.turn.receive(1);
    await runTurn(deps, JSON.parse(turn!.body) as TurnMessage, limits);
    const records = await deps.store.runs.read(runId);
    expect(records?.commits.flatMap(({ events }) => events).find((event) => event.type === 'RunEnding')).toMatchObject({
      outcome: { status: 'completed', result: { attempt: 1, progress: { row: 7 } } },
    });
    client.destroy();
  });
});
