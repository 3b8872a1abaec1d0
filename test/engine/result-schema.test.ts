import { RemoteResultInvalid } from 'outwait';
import type { JsonValue } from '../../lib/base/json.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { aFlow, started, WatchedServer } from './support.js';

const rows = z.object({ structuredContent: z.object({ rows: z.number() }) });

/** Runs a workflow of one call whose result is checked, and returns what the call gave. */
async function outcomeOf(result: JsonValue, isError = false): Promise<unknown> {
  const flow = aFlow(async (ctx) => {
    const call = { server: 'reports', tool: 'export', resultSchema: rows };
    return ctx.callRemoteTask(call).catch((error: unknown) => {
      if (!(error instanceof RemoteResultInvalid)) throw error;
      return [error.code, error.message, error.details ?? null];
    });
  });
  const reports = new WatchedServer({ task: { after: { minutes: 5 }, result, isError } });
  const { app, runId } = await started(flow, { reports });
  const outcome = await app.runToEnd(runId);
  expect(reports.starts).toHaveLength(1);
  return outcome;
}

describe('the result of a remote call with a schema (S2-11)', () => {
  it('is given as the server sent it when it fits', async () => {
    const result = { structuredContent: { rows: 3, more: true } };
    expect(await outcomeOf(result)).toMatchObject({ status: 'completed', result: { result, isError: false } });
  });

  it('is an error of the call when it does not: with the place of each mistake, and what came in the details', async () => {
    const result = { structuredContent: { rows: 'three' } };
    expect(await outcomeOf(result)).toMatchObject({
      status: 'completed',
      result: [
        'REMOTE_RESULT_INVALID',
        expect.stringMatching(
          /^the result of the remote task on "reports" does not fit its schema: structuredContent\.rows: /,
        ),
        { server: 'reports', result },
      ],
    });
  });

  it('is not checked when the tool itself says that it is an error', async () => {
    expect(await outcomeOf('no rows today', true)).toMatchObject({
      status: 'completed',
      result: { result: 'no rows today', isError: true },
    });
  });
});
