import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatSchedule, formatSchedules } from '../../../lib/cli/format.js';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const report = defineWorkflow({ name: 'report', run: () => Promise.resolve(1) });

let engine: LocalEngine;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({
      workflows: [report],
      // 29 February: it does not start while the test runs, except on one day in four years.
      schedules: [{ name: 'leap-day', workflow: report, cron: '0 2 29 2 *' }],
    }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(async () => {
  await engine.stop();
});

const ask = (...args: readonly string[]) => run('schedules', ...args, '--url', engine.url);

it('schedules are listed, paused and resumed (EN-22)', async () => {
  const listed = await ask('list');
  expect(listed).toMatchObject({ code: 0, err: '' });
  expect(listed.out).toMatch(
    /^SCHEDULE {2}WORKFLOW {2}STATUS {2}NEXT {22}LAST {2}LAST RUN {2}WAITING\nleap-day {2}report {4}active {2}\d{4}-02-29T02:00:00\.000Z\n$/,
  );
  expect((await ask('pause', 'leap-day')).out).toMatch(
    /^schedule {3}leap-day\nworkflow {3}report\nstatus {5}paused since \d{4}-\S+Z\n$/,
  );
  expect(JSON.parse((await ask('list', '--json')).out)).toMatchObject({
    schedules: [{ name: 'leap-day', paused: true }],
  });
  expect(JSON.parse((await ask('resume', 'leap-day', '--json')).out)).toMatchObject({
    name: 'leap-day',
    paused: false,
  });
});

it('a schedule whose pattern is wrong is listed with its problem', () => {
  const view = {
    name: 'broken',
    workflow: 'report',
    paused: false,
    problem: 'schedule "broken": no such\u001b minute',
  };
  expect(formatSchedules([view, { ...view, name: 'b', paused: true }]).split('\n')).toEqual([
    'SCHEDULE  WORKFLOW  STATUS   NEXT  LAST  LAST RUN  WAITING',
    'broken    report    problem',
    'b         report    problem',
    'schedule "broken": no such\\u{1b} minute',
    'schedule "broken": no such\\u{1b} minute',
  ]);
  expect(formatSchedule(view)).toContain('problem    schedule "broken": no such');
});

it.each([
  [['pause', 'other'], 1, /no schedule has this name; known schedules: leap-day/],
  [['pause'], 2, /missing required argument 'name'/],
  [['stop', 'leap-day'], 2, /unknown command|too many arguments/],
] as const)('schedules %j is refused', async (args, code, text) => {
  const answer = await ask(...args);
  expect(answer.code).toBe(code);
  expect(answer.err).toMatch(text);
});
