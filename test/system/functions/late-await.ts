// A process that runs one workflow under the rules of Lambda: its step fails long before the workflow awaits it.
import type { SQSEvent } from 'aws-lambda';
import { createLog } from '../../../lib/process/log.js';
import { logRejections } from '../../../lib/process/rejections.js';
import { system } from '../../../lib/process/system.js';
import { turnHandler } from '../../../lib/aws/turn-handler.js';
import { hasCode } from '../../../lib/base/errors.js';
import { showRun } from '../../../lib/operations/views/show-run.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aWorld } from '../../unit/http/world.js';

process.on('unhandledRejection', () => process.exit(129));
logRejections(createLog({ level: 'error' }));

const late = defineWorkflow({
  name: 'late',
  run: async (ctx) => {
    const failing = (async () => {
      await ctx.step('fails', () => Promise.reject(new Error('no')), { retry: { maxAttempts: 1 } });
    })();
    await ctx.sleep({ minutes: 1 });
    try {
      await failing;
      return 'not caught';
    } catch (error) {
      return hasCode(error, 'STEP_FAILED') ? 'caught STEP_FAILED' : 'caught another';
    }
  },
});

const world = aWorld();
const deps = { ...world.deps, delay: system.delay, app: defineApp({ workflows: [late] }) };
const { runId } = await startRun(deps, { workflow: 'late' });
const handler = turnHandler(() => deps);
const turn = async (): Promise<void> => {
  const record = { messageId: 'm', body: JSON.stringify({ runId }), attributes: { MessageGroupId: runId } };
  await handler({ Records: [record] } as unknown as SQSEvent, { getRemainingTimeInMillis: () => 60_000 });
};
await turn();
world.clock.atMs += 60_000;
await turn();
const { outcome } = await showRun(deps, runId);
process.stdout.write(`${outcome?.status === 'completed' ? JSON.stringify(outcome.result) : 'not completed'}\n`);
