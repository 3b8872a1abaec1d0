import { createTestApp, scriptedServer } from 'outwait/testing';
import type { ScriptedServer, ScriptedTask, TestApp } from 'outwait/testing';
import { describe, expect, it } from 'vitest';
import config from '../outwait.config.js';
import { monthlyReport } from './workflow.js';

/** Creates the workflow with a scripted reporting system, on a clock that skips the waiting. */
function appWith(task: ScriptedTask): { app: TestApp; reports: ScriptedServer } {
  const reports = scriptedServer({ protocol: 'mcp', task: () => task });
  return { app: createTestApp(config, { servers: { reports } }), reports };
}

const exported = { structuredContent: { rows: 410, file: 'bookings-2026-10.csv' } };

describe('monthlyReport', () => {
  it('waits five hours for the export and says who gets the file', async () => {
    const { app, reports } = appWith({ after: { hours: 5 }, result: exported });
    const runId = await app.start(monthlyReport, { month: '2026-10' });

    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: {
        status: 'ready',
        month: '2026-10',
        rows: 410,
        file: 'bookings-2026-10.csv',
        recipients: ['finance@example.com'],
      },
    });
    expect(reports.starts.map(({ request }) => request)).toEqual([
      { kind: 'tool', tool: 'start_export', arguments: { month: '2026-10' } },
    ]);
  });

  it('also sends the last report of a quarter to the board', async () => {
    const { app } = appWith({ after: { hours: 1 }, result: exported });
    const runId = await app.start(monthlyReport, { month: '2026-12' });

    expect(await app.runToEnd(runId)).toMatchObject({
      result: { recipients: ['finance@example.com', 'board@example.com'] },
    });
  });

  it('passes on why there is no report when the tool says that it failed', async () => {
    const { app } = appWith({
      after: { minutes: 1 },
      isError: true,
      result: { content: [{ type: 'text', text: 'no bookings in 2019-12' }] },
    });
    const runId = await app.start(monthlyReport, { month: '2019-12' });

    expect(await app.runToEnd(runId)).toEqual({
      status: 'completed',
      result: { status: 'no report', month: '2019-12', reason: 'no bookings in 2019-12' },
    });
  });

  it('fails after six hours without a report', async () => {
    const { app } = appWith({ never: true });
    const runId = await app.start(monthlyReport, { month: '2026-10' });

    expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'REMOTE_TASK_TIMED_OUT' } });
    const { createdAtMs, endedAtMs = 0 } = await app.show(runId);
    expect(Math.floor((endedAtMs - createdAtMs) / 3_600_000)).toBe(6);
  });

  it('is not started for something that is no month', async () => {
    const { app } = appWith({});

    await expect(app.start(monthlyReport, { month: 'October' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
