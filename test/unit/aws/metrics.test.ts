import { readFileSync } from 'node:fs';
import type { ScheduledEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../lib/aws/metrics.js';
import { scheduleHandler } from '../../../lib/aws/schedule-handler.js';
import { runTurn } from '../../../lib/operations/turn/run-turn.js';
import { startRun } from '../../../lib/operations/requests/start-run.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { aWorld } from '../http/world.js';

function recording() {
  const put: (readonly [string, number])[] = [];
  return { put, metrics: { put: (name: string, value: number) => void put.push([name, value]) } };
}

describe('metrics', () => {
  it('are lines in the embedded metric format, with the table as their one dimension', () => {
    const lines: string[] = [];
    const metrics = createMetrics({
      table: 'outwait-1',
      clock: { nowMs: () => 1_800_000_000_000 },
      write: (line) => void lines.push(line),
    });
    metrics.put('OldestDueAgeMs', 61_000);
    metrics.put('BlockedRuns', 1);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        _aws: {
          Timestamp: 1_800_000_000_000,
          CloudWatchMetrics: [
            {
              Namespace: 'Outwait',
              Dimensions: [['Table']],
              Metrics: [{ Name: 'OldestDueAgeMs', Unit: 'Milliseconds' }],
            },
          ],
        },
        Table: 'outwait-1',
        OldestDueAgeMs: 61_000,
      },
      {
        _aws: {
          Timestamp: 1_800_000_000_000,
          CloudWatchMetrics: [
            { Namespace: 'Outwait', Dimensions: [['Table']], Metrics: [{ Name: 'BlockedRuns', Unit: 'Count' }] },
          ],
        },
        Table: 'outwait-1',
        BlockedRuns: 1,
      },
    ]);
  });

  it('of one version have the function and its version as dimensions, and are not written by any other', () => {
    const lines: string[] = [];
    const options = {
      table: 'outwait-1',
      clock: { nowMs: () => 1_800_000_000_000 },
      write: (line: string) => void lines.push(line),
    };
    createMetrics(options).put('NewlyBlockedRuns', 1);
    createMetrics(options).put('HandlerFailures', 1);
    expect(lines).toEqual([]);
    createMetrics({ ...options, version: { functionName: 'Outwait-Turn', version: '7' } }).put('NewlyBlockedRuns', 1);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        _aws: {
          Timestamp: 1_800_000_000_000,
          CloudWatchMetrics: [
            {
              Namespace: 'Outwait',
              Dimensions: [['Function', 'Version']],
              Metrics: [{ Name: 'NewlyBlockedRuns', Unit: 'Count' }],
            },
          ],
        },
        Function: 'Outwait-Turn',
        Version: '7',
        NewlyBlockedRuns: 1,
      },
    ]);
  });

  it('with labels are summed until the end of an invocation, one line for each set of dimensions', () => {
    const lines: string[] = [];
    const metrics = createMetrics({
      table: 'outwait-1',
      clock: { nowMs: () => 1_800_000_000_000 },
      write: (line) => void lines.push(line),
    });
    metrics.put('Polls', 1, { server: 'reports', result: 'working' });
    metrics.put('RemoteStarts', 1, { server: 'reports', result: 'working' });
    metrics.put('Polls', 2, { server: 'reports', result: 'working' });
    metrics.put('Settlements', 1, { source: 'poll' });
    expect(lines).toEqual([]);
    metrics.flush?.();
    const directive = (dimensions: readonly string[], names: readonly string[]) => ({
      Timestamp: 1_800_000_000_000,
      CloudWatchMetrics: [
        { Namespace: 'Outwait', Dimensions: [dimensions], Metrics: names.map((Name) => ({ Name, Unit: 'Count' })) },
      ],
    });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        _aws: directive(['Table', 'Server', 'Result'], ['Polls', 'RemoteStarts']),
        Table: 'outwait-1',
        Server: 'reports',
        Result: 'working',
        Polls: 3,
        RemoteStarts: 1,
      },
      { _aws: directive(['Table', 'Source'], ['Settlements']), Table: 'outwait-1', Source: 'poll', Settlements: 1 },
    ]);
    lines.length = 0;
    metrics.flush?.();
    expect(lines).toEqual([]);
  });

  it('of a sweep say how long the oldest has been due, and how late the sweep is', async () => {
    const event = JSON.parse(
      readFileSync(new URL('../../support/fixtures/aws-events/scheduled.json', import.meta.url), 'utf8'),
    ) as ScheduledEvent;
    const world = aWorld();
    const { put, metrics } = recording();
    const sweep = scheduleHandler(() => ({ ...world.deps, metrics }));
    const at = (ms: number) => ({ ...event, time: new Date(ms).toISOString() });

    await sweep(at(world.clock.atMs));
    expect(put.splice(0)).toEqual([
      ['OldestDueAgeMs', 0],
      ['SweepLagMs', 0],
    ]);

    // Two runs whose wakes are not received: the guard of a start is due at once.
    await startRun(world.deps, { workflow: 'waits', input: {} });
    world.clock.atMs += 200_000;
    await startRun(world.deps, { workflow: 'waits', input: {} });
    world.clock.atMs += 100_000;
    await sweep(at(world.clock.atMs - 7_000));
    expect(put.splice(0)).toEqual([
      ['OldestDueAgeMs', 300_000],
      ['SweepLagMs', 7_000],
    ]);

    // The clock of the function may be a little behind.
    await sweep(at(world.clock.atMs + 400));
    expect(put).toContainEqual(['SweepLagMs', 0]);
  });

  it('count each look at a run that the code does not fit', async () => {
    const world = aWorld();
    const { put, metrics } = recording();
    const { runId } = await startRun(world.deps, { workflow: 'talks', input: {} });
    await world.runTurns();
    const talks = defineWorkflow({ name: 'talks', run: (ctx) => ctx.sleep({ hours: 1 }) });
    const deps = { ...world.deps, app: defineApp({ workflows: [talks] }), metrics };
    for (let look = 0; look < 2; look++)
      await runTurn(deps, { runId }, { remainingMs: () => 60_000, deliveryCount: 1 });
    expect(put).toEqual([
      ['BlockedRuns', 1],
      // The first turn alone has blocked it.
      ['NewlyBlockedRuns', 1],
      ['BlockedRuns', 1],
    ]);
  });
});
