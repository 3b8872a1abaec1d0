import { describe, expect, it } from 'vitest';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { tickSchedules } from '../../../lib/operations/schedules/tick-schedules.js';
import { aClient, errorOf } from './client.js';
import { aWorld } from './world.js';

const nightly = defineWorkflow({ name: 'nightly', run: () => Promise.resolve('done') });

// The world begins on 15 January 2027 at 08:00 UTC.
const nextTickAtMs = Date.UTC(2027, 0, 16, 2);

function scheduling(options: Parameters<typeof aClient>[1] = {}) {
  const world = aWorld();
  const app = defineApp({
    workflows: [nightly],
    schedules: [{ name: 'every-night', workflow: nightly, cron: '0 2 * * *' }],
  });
  Object.assign(world.deps, { app });
  return aClient(world, options);
}

describe('the routes of schedules (EN-22)', () => {
  it('list each with its next and last tick, and the run that was started last', async () => {
    const client = scheduling();
    expect(await client.ask('GET', '/schedules')).toMatchObject({
      status: 200,
      body: { schedules: [{ name: 'every-night', workflow: 'nightly', paused: false, nextTickAtMs }] },
    });
    await tickSchedules(client.world.deps);
    client.world.clock.atMs = nextTickAtMs;
    await tickSchedules(client.world.deps);
    const { runs } = (await client.ask('GET', '/runs')).body as { runs: { runId: string }[] };
    expect((await client.ask('GET', '/schedules')).body).toEqual({
      schedules: [
        {
          name: 'every-night',
          workflow: 'nightly',
          paused: false,
          nextTickAtMs: Date.UTC(2027, 0, 17, 2),
          lastTickAtMs: nextTickAtMs,
          lastRunId: runs[0]!.runId,
        },
      ],
    });
  });

  it('list one whose pattern is wrong with its problem, beside the others', async () => {
    const client = scheduling();
    const broken = { name: 'broken', workflow: nightly, cron: '61 * * * *' };
    const fine = { name: 'every-night', workflow: nightly, cron: '0 2 * * *' };
    Object.assign(client.world.deps, { app: defineApp({ workflows: [nightly], schedules: [broken, fine] }) });
    const problem = 'schedule "broken": CronPattern: Invalid value for minute: 61';
    expect(await client.ask('GET', '/schedules')).toMatchObject({
      status: 200,
      body: {
        schedules: [
          { name: 'broken', workflow: 'nightly', paused: false, problem },
          { name: 'every-night', nextTickAtMs },
        ],
      },
    });
    expect(await client.ask('POST', '/schedules/broken/pause')).toMatchObject({
      status: 200,
      body: { name: 'broken', paused: true, problem },
    });
  });

  it('pause and resume one, each as often as it is asked', async () => {
    const client = scheduling();
    const pausedAtMs = client.world.clock.atMs;
    const paused = { name: 'every-night', workflow: 'nightly', paused: true, pausedAtMs };
    for (let time = 0; time < 2; time++) {
      const answer = await client.ask('POST', '/schedules/every-night/pause');
      expect([answer.status, answer.body]).toEqual([200, paused]);
      client.world.clock.atMs += 1;
    }
    client.world.clock.atMs = nextTickAtMs;
    expect(await tickSchedules(client.world.deps)).toEqual({ started: 0 });
    for (let time = 0; time < 2; time++) {
      const answer = await client.ask('POST', '/schedules/every-night/resume', { body: {} });
      expect([answer.status, answer.body]).toEqual([
        200,
        { name: 'every-night', workflow: 'nightly', paused: false, nextTickAtMs: Date.UTC(2027, 0, 17, 2) },
      ]);
    }
  });

  it.each(['pause', 'resume'])('refuse to %s what is not there, and fields, and change nothing', async (action) => {
    const client = scheduling();
    const before = client.world.dump();
    const unknown = await client.ask('POST', `/schedules/other/${action}`);
    expect([unknown.status, errorOf(unknown)]).toEqual([
      404,
      { code: 'SCHEDULE_NOT_FOUND', message: 'no schedule has this name; known schedules: every-night' },
    ]);
    const withFields = await client.ask('POST', `/schedules/every-night/${action}`, { body: { for: 'ever' } });
    expect([withFields.status, errorOf(withFields).code]).toEqual([400, 'INPUT_INVALID']);
    expect((await client.ask('GET', `/schedules/every-night/${action}`)).status).toBe(405);
    expect(client.world.dump()).toBe(before);
  });

  it('ask for the management token', async () => {
    const { ask } = scheduling({ managementTokens: () => ['canary-s3cret'] });
    for (const [method, path] of [
      ['GET', '/schedules'],
      ['POST', '/schedules/every-night/pause'],
      ['POST', '/schedules/every-night/resume'],
    ] as const) {
      expect([path, (await ask(method, path)).status]).toEqual([path, 401]);
    }
  });
});
