import { describe, expect, it } from 'vitest';
import { storedError } from '../../../lib/base/errors.js';
import type { RunView } from '../../../lib/operations/views/show-run.js';
import type { RunSummary } from '../../../lib/history/records.js';
import { formatHistory } from '../../../lib/cli/format-events.js';
import { formatList, formatRun, formatWhy } from '../../../lib/cli/format.js';
import { formatRemoteTasks } from '../../../lib/cli/format-remote-tasks.js';
import { printableStyledLines } from '../../../lib/cli/printable.js';
import { paint, type Screen, screenOf } from '../../../lib/cli/screen.js';
import { formatRows, formatTable } from '../../../lib/cli/table.js';
import { lengthOf, shortTime, since, time, until } from '../../../lib/cli/times.js';

const nowMs = Date.UTC(2026, 10, 30, 12);
const minute = 60_000;
const terminal: Screen = { width: 80, hasColor: false, nowMs };
const pipe: Screen = { hasColor: false, nowMs };
const runId = '0123456789abcdef0123456789abcdef';
const aRun: RunSummary = { runId, workflow: 'monthlyReport', status: 'running', createdAtMs: nowMs - 3 * minute };

const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

describe('times', () => {
  it('are relative on a terminal (F45)', () => {
    expect(time(nowMs - 3 * minute - 5_000, terminal)).toBe('3m 5s ago');
    expect(time(nowMs + 125 * minute, terminal)).toBe('in 2h 5m');
    expect(time(nowMs + 400, terminal)).toBe('now');
    expect(shortTime(nowMs - 125 * minute, terminal)).toBe('2h ago');
    expect(since(nowMs - 3 * minute, terminal)).toBe('for 3m');
    expect(until(nowMs + 3 * minute, terminal)).toBe('for another 3m');
    expect(lengthOf(26 * 60 * minute)).toBe('1d 2h');
  });

  it('are dates on a terminal where they are far away (F45)', () => {
    const long = Date.UTC(2025, 0, 2, 3, 4, 5);
    expect(time(long, terminal)).toBe('2025-01-02T03:04:05.000Z');
    expect(shortTime(long, terminal)).toBe('2025-01-02');
    expect(time(Number.NaN, terminal)).toBe('unknown');
  });

  it('are absolute in a file or a pipe (F45)', () => {
    expect(time(nowMs, pipe)).toBe('2026-11-30T12:00:00.000Z');
    expect(shortTime(nowMs, pipe)).toBe('2026-11-30T12:00:00.000Z');
    expect(since(nowMs, pipe)).toBe('since 2026-11-30T12:00:00.000Z');
    expect(until(nowMs, pipe)).toBe('until 2026-11-30T12:00:00.000Z');
  });
});

describe('colour', () => {
  const tty = { isTTY: true, columns: 100 };
  it.each([
    ['a terminal', tty, {}, true],
    ['a dumb terminal', tty, { TERM: 'dumb' }, false],
    ['a terminal with NO_COLOR', tty, { NO_COLOR: '1' }, false],
    ['a terminal with an empty NO_COLOR', tty, { NO_COLOR: '' }, true],
    ['NO_COLOR wins over FORCE_COLOR', tty, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    ['a pipe', {}, {}, false],
    ['a pipe with FORCE_COLOR', {}, { FORCE_COLOR: '1' }, true],
    ['a pipe with FORCE_COLOR=0', {}, { FORCE_COLOR: '0' }, false],
    ['a terminal with FORCE_COLOR=0', tty, { FORCE_COLOR: '0' }, false],
  ])('%s (F45)', (_, stream, environment, expected) => {
    expect(screenOf(stream, environment, nowMs).hasColor).toBe(expected);
  });

  it('leaves columns where they are, and wraps nothing in a pipe (F45)', () => {
    expect(screenOf({}, { FORCE_COLOR: '1' }, nowMs).width).toBeUndefined();
    expect(screenOf(tty, {}, nowMs).width).toBe(100);
    expect(screenOf({ isTTY: true, columns: 0 }, {}, nowMs).width).toBe(80);
    const colored = paint(formatList({ runs: [aRun] }, { ...terminal, hasColor: true }), { hasColor: true });
    expect(colored).toContain('\u001b[36mrunning\u001b[39m');
    expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(formatList({ runs: [aRun] }, terminal));
  });

  it('cannot be chosen by text from outside (F45)', () => {
    const screen = { ...terminal, hasColor: true };
    const rows = formatRows([['name', '\u001b[31mred\ufdd3x\ufdd6']], screen);
    expect(paint(printableStyledLines(rows), screen)).toBe(
      '\u001b[2mname\u001b[22m       \\u{1b}[31mred\\u{fdd3}x\\u{fdd6}',
    );
  });
});

describe('what is printed on a terminal of 80 columns', () => {
  it('fits as a table, with what may be cut', () => {
    const long = { ...aRun, workflow: 'x'.repeat(64) };
    const text = formatList({ runs: [aRun, long], cursor: 'c' }, terminal);
    expect(widest(text)).toBeLessThanOrEqual(80);
    expect(text).toContain('xxx…');
    const owned = formatList({ runs: [{ ...aRun, owner: 'o'.repeat(40), tenant: 't', endedAtMs: nowMs }] }, terminal);
    expect(widest(owned)).toBeLessThanOrEqual(80);
    expect(owned).toContain(`owner      ${'o'.repeat(40)}`);
    expect(formatList({ runs: [long] }, pipe)).toContain('x'.repeat(64));
  });

  it('becomes blocks where a table does not fit, and cuts no id', () => {
    const taskId = 'task-'.repeat(12);
    const task = { runId, waitId: '1', server: 'reports', taskId, state: 'open', sinceMs: nowMs - minute } as const;
    const text = formatRemoteTasks({ tasks: [task, task] }, nowMs, terminal);
    expect(text).toMatch(
      new RegExp(`^run {8}${runId}\nwait {7}1\nserver {5}reports\ntask {7}${taskId}\nstate {6}open$`, 'm'),
    );
    expect(text.split('\n\n')).toHaveLength(2);
  });

  it('wraps words, keeps long words whole and counts wide characters twice', () => {
    const row = formatRows(
      [
        [
          'question',
          `${'wörter und '.repeat(20)}${'x'.repeat(90)} 质量报告已经准备好了 质量报告已经准备好了 质量报告已经准备好了 质量报告已经准备好了`,
        ],
      ],
      terminal,
    );
    const lines = row.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([`           ${'x'.repeat(90)}`]);
    expect(lines.filter((line) => line.includes('质')).map((line) => line.trim().split(' ').length)).toEqual([3, 1]);
    expect(
      formatTable(
        [
          ['A', 'B'],
          ['质量', 'x'],
          ['ab', 'y'],
        ],
        terminal,
      ),
    ).toBe('A     B\n质量  x\nab    y');
  });

  it('says in lines what a run waits for', () => {
    const run: RunView = {
      ...{ runId, workflow: 'monthlyReport', version: '1', status: 'running' as const, createdAtMs: nowMs - minute },
      input: { month: '2026-10', regions: ['north', 'south', 'east', 'west'], note: 'as discussed on the phone' },
      waits: [{ waitId: '1', kind: 'timer', name: '', sinceMs: nowMs - minute, nextAtMs: nowMs + minute }],
    };
    const text = formatRun(run, terminal);
    expect(widest(text)).toBeLessThanOrEqual(80);
    expect(text).toContain('started    1m ago');
    expect(text).toContain('waits for  timer, begun 1m ago, next in 1m');
    expect(text).toContain(
      'input      { "month": "2026-10", "regions": [ "north", "south", "east", "west"\n           ], "note":',
    );
  });
});

describe('what holds a run up', () => {
  const base = { runId, status: 'running', waits: [] } as const;

  it('is said with what to do next (F32)', () => {
    const blocked = storedError('NONDETERMINISM', 'the code has changed');
    expect(formatWhy({ ...base, blocked, nextLookAtMs: nowMs + 5 * minute }, terminal)).toBe(
      'status     running\n' +
        'blocked    NONDETERMINISM: the code has changed\n' +
        '           it continues by itself after a deployment whose code fits its\n' +
        '           history; the next look is in 5m\n' +
        `           to look now: outwait retry-now ${runId}`,
    );
    expect(formatWhy({ ...base, pausedUntilMs: nowMs + minute }, terminal)).toContain(
      `to go on now: outwait resume ${runId}`,
    );
    expect(formatWhy({ ...base, startAtMs: nowMs + minute }, terminal)).toContain('delayed    it starts in 1m');
  });
});

describe('a history', () => {
  const event = { atMs: nowMs, seq: 1 };
  const view = {
    ...{ runId, workflow: 'w', version: '1', seed: 's' },
    events: [
      { ...event, type: 'RunStarted', workflow: 'w', version: '1', behaviors: 3 },
      {
        ...event,
        type: 'RemoteTaskRequested',
        waitId: '1',
        server: 'reports',
        name: 'export',
        digest: 'd'.repeat(64),
        input: { month: 'May' },
        deadlineAtMs: nowMs + minute,
      },
      {
        ...event,
        seq: 2,
        atMs: nowMs + 5_000,
        type: 'TokenSettled',
        waitId: '1',
        settlement: { by: 'poll', atMs: nowMs, outcome: { kind: 'completed', result: { rows: 3 }, isError: false } },
      },
      { ...event, seq: 3, atMs: nowMs + minute, type: 'NewerThanThis', waitId: '7' } as never,
    ],
  } as const;

  it('is lines that a person reads, without digests (F45)', () => {
    expect(formatHistory(view, terminal)).toBe(
      '1     +0s       run started: w (version 1)\n' +
        '1     +0s       remote task export on reports (wait 1), with { "month": "May" },\n' +
        '                deadline in 1m\n' +
        '2     +5s       remote task export on reports completed (by poll): { "rows": 3 }\n' +
        '3     +1m       NewerThanThis',
    );
    expect(formatHistory(view, pipe).split('\n')[2]).toBe(
      '2     2026-11-30T12:00:05.000Z  remote task export on reports completed (by poll): {"rows":3}',
    );
  });

  it('is cut at its beginning by a limit, and says so (F54)', () => {
    expect(formatHistory(view, terminal, 1)).toBe('(3 earlier events left out)\n3     +1m       NewerThanThis');
    expect(formatHistory(view, terminal, 4)).not.toContain('left out');
  });
});
