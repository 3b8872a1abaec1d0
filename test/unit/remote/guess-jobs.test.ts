import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { guessedJobs, namedTools, type NamedTool } from '../../../lib/remote/try/guess-jobs.js';
import { problemWithJobs } from '../../../lib/workflow/server-jobs.js';

/** Returns tools with signatures such as `export_status(job_id)`. */
const tools = (...signatures: readonly string[]): readonly NamedTool[] =>
  signatures.map((signature) => {
    const [, name = '', list = ''] = /^([^(]+)\((.*)\)$/.exec(signature) ?? [];
    return { name, arguments: list === '' ? [] : list.split(', ') };
  });

it.each([
  [
    ['start_export(month)', 'export_status(job_id)', 'cancel_export(job_id)'],
    "jobs: { start_export: { id: 'job_id', status: 'export_status', cancel: 'cancel_export' } }",
  ],
  [['submit(text)', 'status(id)'], "jobs: { submit: { id: 'id', status: 'status' } }"],
  [
    ['submitJob(a, b)', 'getJobStatus(jobId, verbose)', 'getJobResult(jobId)', 'stopJob(jobId)'],
    "jobs: { submitJob: { id: 'jobId', status: 'getJobStatus', cancel: 'stopJob', resultTool: 'getJobResult' } }",
  ],
  [['start_run()', 'get_run_status(handle)'], "jobs: { start_run: { id: 'handle', status: 'get_run_status' } }"],
  [
    ['create-video(text)', 'video-progress(video_id)', 'start_export()', 'export_status(job_id)'],
    "jobs: { 'create-video': { id: 'video_id', status: 'video-progress' }, start_export: { id: 'job_id', status: 'export_status' } }",
  ],
])('%j are a job', (signatures, line) => {
  const guess = guessedJobs(tools(...signatures));
  expect(guess?.line).toBe(line);
  expect(guess?.why).toMatch(/^a guess /);
  // The line is valid in a configuration.
  const { jobs } = runInNewContext(`({ ${line} })`) as { readonly jobs: unknown };
  expect(problemWithJobs(jobs)).toBeUndefined();
});

it.each([
  [['quick()', 'slow()', 'fail()']],
  // No tool reports on it, or the tool reports on something else.
  [['start_export(month)', 'cancel_export(job_id)']],
  [['start_export(month)', 'import_status(job_id)']],
  // No argument names a job, or the name is given from the start.
  [['start_server()', 'server_status()']],
  [['start_instance(instance_id)', 'instance_status(instance_id)']],
  // A tool that reports on runs starts none.
  [['run_status(run_id)', 'cancel_run(run_id)']],
])('%j are no job tools', (signatures) => {
  expect(guessedJobs(tools(...signatures))).toBeUndefined();
});

it('a name that a server has made up stays inside of its quotes', () => {
  const start = `start_'x"\\`;
  const line = guessedJobs([
    { name: start, arguments: [] },
    { name: `'x"\\ status`, arguments: ["id', status: evil('"] },
  ])?.line;
  const { jobs } = runInNewContext(`({ ${line ?? ''} })`) as { readonly jobs: unknown };
  expect(jobs).toEqual({ [start]: { id: "id', status: evil('", status: `'x"\\ status` } });
});

it('a value that is not a list of tools has no job tools', () => {
  expect([null, {}, { tools: 1 }, { tools: [1, {}, { name: 1 }] }].map(namedTools)).toEqual([[], [], [], []]);
  expect(namedTools({ tools: [{ name: 'a', inputSchema: { properties: { x: {} } } }, { name: 'b' }] })).toEqual(
    tools('a(x)', 'b()'),
  );
});
