import { defineApp, mcpServer, type ServerJobs } from 'outwait';
import { describe, expect, it } from 'vitest';
import { effectiveJob } from '../../../lib/remote/mcp/effective-job.js';

const define = (jobs: unknown): void =>
  void defineApp({
    workflows: [],
    servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp', jobs: jobs as ServerJobs }) },
  });

const job = { status: 'export_status', id: 'job_id' };

describe('jobs of a server', () => {
  it.each([
    {},
    { start_export: job },
    {
      start_export: {
        ...job,
        id: 'data.job.id',
        argument: 'jobId',
        cancel: 'cancel_export',
        resultTool: 'export_result',
        state: 'data.state',
        done: ['READY'],
        failed: ['failed', 'error', 'cancelled'],
        cancelled: [],
        missing: ['no such job', 404],
        result: 'data.rows',
        message: 'data.note',
        pollAfter: { seconds: 30 },
      },
      start_import: job,
    },
  ])('are taken: %j', (jobs) => {
    expect(() => {
      define(jobs);
    }).not.toThrow();
  });

  it.each([
    [[], 'servers.reports.jobs must be an object with a job for each tool that starts one, got []'],
    [null, 'servers.reports.jobs must be an object with a job for each tool that starts one, got null'],
    [{ '': job }, 'servers.reports.jobs: the name of a tool must have 1 to 256 characters'],
    [{ a: 'b' }, `servers.reports.jobs.a must be an object such as { status: 'get_status', id: 'job_id' }, got "b"`],
    [{ a: { id: 'x' } }, 'servers.reports.jobs.a.status is missing: a tool'],
    [{ a: { status: 'x' } }, 'servers.reports.jobs.a.id is missing: the path of the id'],
    [{ a: { ...job, stop: 'x' } }, 'servers.reports.jobs.a.stop is not an option of a job; use status, cancel, '],
    [{ a: { ...job, status: ' ' } }, 'servers.reports.jobs.a.status must be the name of a tool, got " "'],
    [{ a: { ...job, cancel: 7 } }, 'servers.reports.jobs.a.cancel must be the name of a tool, got 7'],
    [{ a: { ...job, resultTool: '' } }, 'servers.reports.jobs.a.resultTool must be the name of a tool, got ""'],
    [{ a: { ...job, id: 'a..b' } }, 'servers.reports.jobs.a.id must be a path such as "job.id", got "a..b"'],
    [{ a: { ...job, state: '' } }, 'servers.reports.jobs.a.state must be a path such as "job.id", got ""'],
    [{ a: { ...job, result: ['x'] } }, 'servers.reports.jobs.a.result must be a path such as "job.id", got ["x"]'],
    [{ a: { ...job, message: true } }, 'servers.reports.jobs.a.message must be a path such as "job.id", got true'],
    [{ a: { ...job, argument: '' } }, 'servers.reports.jobs.a.argument must be the name of an argument, got ""'],
    [{ a: { ...job, done: 'ready' } }, 'servers.reports.jobs.a.done must be a list of states, got "ready"'],
    [{ a: { ...job, done: [] } }, 'servers.reports.jobs.a.done must list at least one state'],
    [{ a: { ...job, failed: [7] } }, 'servers.reports.jobs.a.failed must be a list of states, got [7]'],
    [
      { a: { ...job, done: ['Ended'], cancelled: ['ended'] } },
      'servers.reports.jobs.a: the state "ended" is in both done and cancelled',
    ],
    [
      { a: { ...job, missing: [{}] } },
      'servers.reports.jobs.a.missing must be a list of strings and error codes, got [{}]',
    ],
    [
      { a: { ...job, missing: [''] } },
      'servers.reports.jobs.a.missing must be a list of strings and error codes, got [""]',
    ],
    [
      { a: { ...job, pollAfter: 30 } },
      'servers.reports.jobs.a.pollAfter must be a duration such as { seconds: 30 }, got 30',
    ],
    [{ a: { ...job, pollAfter: { seconds: 0 } } }, 'servers.reports.jobs.a.pollAfter must be from 1 second to 1 hour'],
    [{ a: { ...job, pollAfter: { days: 1 } } }, 'servers.reports.jobs.a.pollAfter must be from 1 second to 1 hour'],
    [{ a: { ...job, pollAfter: { s: 30 } } }, 'servers.reports.jobs.a: pollAfter must be a duration such as'],
    [{ a: { ...job, status: 'a' } }, 'servers.reports.jobs.a.status is "a", which starts a job itself'],
    [{ a: job, b: { ...job, cancel: 'a' } }, 'servers.reports.jobs.b.cancel is "a", which starts a job itself'],
  ])('are refused: %j', (jobs, message) => {
    expect(() => {
      define(jobs);
    }).toThrow(message);
  });

  it('have words for their ends, and a word that is listed for one end is not a default of another', () => {
    const words = (more: object) => {
      const { done, failed, cancelled } = effectiveJob({ a: { ...job, ...more } }, 'a')!;
      return { done, failed, cancelled };
    };
    expect(words({})).toEqual({
      done: ['completed', 'complete', 'succeeded', 'done', 'finished'],
      failed: ['failed', 'failure', 'error'],
      cancelled: ['cancelled', 'canceled'],
    });
    expect(words({ done: ['Error'], failed: ['CANCELLED'] })).toEqual({
      done: ['error'],
      failed: ['cancelled'],
      cancelled: ['canceled'],
    });
  });

  it('are found by the name of their tool, and by no name that every object has', () => {
    expect(effectiveJob({ a: job }, 'a')).toMatchObject({ tool: 'a', argument: 'job_id', state: 'status' });
    expect(effectiveJob({ a: { ...job, id: 'data.job.id' } }, 'a')?.argument).toBe('id');
    expect(effectiveJob({ a: job }, 'toString')).toBeUndefined();
    expect(effectiveJob(undefined, 'a')).toBeUndefined();
  });
});
