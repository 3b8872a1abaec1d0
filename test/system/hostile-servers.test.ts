import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostileReport } from './hostile-process.js';
import { bundleProgram, type Program, startProgram } from './processes.js';

let program: Program;
let report: HostileReport;
beforeAll(async () => {
  program = await bundleProgram('hostile-process');
  const { code, stdout, stderr } = await startProgram(program, {}, ['--expose-gc']).ended;
  expect([code, stderr]).toEqual([0, '']);
  report = JSON.parse(stdout) as HostileReport;
}, 90_000);
afterAll(() => program.remove());

const right = {
  MCP: { content: [{ type: 'text', text: 'right' }] },
  A2A: expect.objectContaining({ id: 't1' }) as unknown,
};

describe('workflows that call hostile servers', () => {
  it('K6, S0-43: have the right result in the end, whatever was said before, or are told that they cannot start', () => {
    expect(report.runs.length).toBeGreaterThan(80);
    for (const { name, outcome } of report.runs) {
      if (/a redirect to .* to a start$/.test(name)) {
        expect(outcome, name).toMatchObject({ status: 'failed', error: { code: 'REMOTE_START_REFUSED' } });
      } else if (/JSON of (100,000 levels|a million keys) to a start$/.test(name)) {
        expect(outcome, name).toMatchObject({ status: 'failed', error: { code: 'PAYLOAD_TOO_LARGE' } });
      } else if (name.endsWith('a name that rebinds')) {
        expect(outcome, name).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID' } });
      } else {
        expect(outcome, name).toEqual({ status: 'completed', result: right[name.startsWith('MCP') ? 'MCP' : 'A2A'] });
      }
    }
  });

  it('read a few times, and start once where the start was answered', () => {
    const once = report.runs.filter(({ name }) => name.endsWith('to a read'));
    expect(new Set(once.map(({ starts }) => starts))).toEqual(new Set([1]));
    // Two wrong answers, and then reads until a correct answer comes within the short timeout.
    expect(Math.min(...once.map(({ reads }) => reads))).toBe(3);
    expect(Math.max(...once.map(({ reads }) => reads))).toBeLessThan(12);
  });

  it('K11: are led to no server on this machine', () => {
    expect(report.trapped).toBe(0);
  });

  it('leave nothing behind in memory: under 16 MiB after as many again', () => {
    expect(report.grownBytes).toBeLessThan(16 * 1024 * 1024);
    expect(report.polluted).toBe(false);
  });
});
