import { readFileSync } from 'node:fs';
import type { APIGatewayProxyEventV2, SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { apiHandler } from '../../../lib/aws/api-handler.js';
import { createMetrics } from '../../../lib/aws/metrics.js';
import { pollHandler } from '../../../lib/aws/poll-handler.js';
import { stepHandler } from '../../../lib/aws/step-handler.js';
import { turnHandler } from '../../../lib/aws/turn-handler.js';
import { EngineError } from '../../../lib/base/errors.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { aWorld } from '../../unit/http/world.js';

const get = JSON.parse(
  readFileSync(new URL('../../support/fixtures/aws-events/http-api-v2-get.json', import.meta.url), 'utf8'),
) as APIGatewayProxyEventV2;
const messages = (name: string, body: object | string): SQSEvent => {
  const { Records } = JSON.parse(
    readFileSync(new URL(`../../support/fixtures/aws-events/${name}.json`, import.meta.url), 'utf8'),
  ) as SQSEvent;
  return { Records: [{ ...Records[0]!, body: typeof body === 'string' ? body : JSON.stringify(body) }] };
};
const plenty = { getRemainingTimeInMillis: () => 900_000 };

/** Creates a deployment whose functions are their third versions. */
async function aVersion() {
  const lines: string[] = [];
  const world = aWorld();
  const version = { functionName: 'Outwait-Turn', version: '3' };
  const metrics = createMetrics({
    table: 'outwait-1',
    version,
    clock: world.deps.clock,
    write: (line) => void lines.push(line),
  });
  const { runId } = await startRun(world.deps, { workflow: 'waits', input: {} });
  await world.runTurns();
  return { world, runId, lines, getDeps: () => ({ ...world.deps, metrics }) };
}

const failure = {
  _aws: {
    Timestamp: 1_800_000_000_000,
    CloudWatchMetrics: [
      {
        Namespace: 'Outwait',
        Dimensions: [['Function', 'Version']],
        Metrics: [{ Name: 'HandlerFailures', Unit: 'Count' }],
      },
    ],
  },
  Function: 'Outwait-Turn',
  Version: '3',
  HandlerFailures: 1,
};

// Lambda counts none of these as errors, since the handler answers.
describe('what a version of a function could not do is counted for that version', () => {
  it.each([
    ['a turn', 'sqs-fifo', turnHandler, (runId: string) => ({ runId })],
    ['a read', 'sqs-standard', pollHandler, (runId: string) => ({ kind: 'poll', runId, waitId: '1' })],
    ['a long step', 'sqs-standard', stepHandler, (runId: string) => ({ runId, waitId: '1', dueAtMs: 1 })],
  ] as const)('%s that fails, and a message that is none', async (_, event, handler, bodyOf) => {
    const { world, runId, lines, getDeps } = await aVersion();
    const handle = handler(getDeps);
    world.fault = new EngineError('STORE_UNAVAILABLE', 'throttled');
    const failed = await handle(messages(event, bodyOf(runId)), plenty);
    const malformed = await handle(messages(event, '{'), plenty);
    expect([failed, malformed].map(({ batchItemFailures }) => batchItemFailures.length)).toEqual([1, 1]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([failure, failure]);
  });

  it('a request that is answered with 500, and no other one', async () => {
    const { world, lines, getDeps } = await aVersion();
    const handle = apiHandler(getDeps);
    const statusOf = async (rawPath: string) =>
      (await handle({ ...get, routeKey: '$default', rawPath, rawQueryString: '' })).statusCode;
    expect(await statusOf('/runs')).toBe(200);
    expect(await statusOf('/runs/x')).toBe(404);
    world.fault = new EngineError('STORE_UNAVAILABLE', 'throttled');
    expect(await statusOf('/runs')).toBe(503);
    expect(lines).toEqual([]);
    world.fault = new EngineError('INTERNAL', 'a bug');
    expect(await statusOf('/runs')).toBe(500);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([failure]);
  });

  it('but not what was done', async () => {
    const { runId, lines, getDeps } = await aVersion();
    expect(await turnHandler(getDeps)(messages('sqs-fifo', { runId }), plenty)).toEqual({ batchItemFailures: [] });
    expect(lines).toEqual([]);
  });
});
