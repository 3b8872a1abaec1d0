import { durationToMs } from '../../base/time.js';
import { statesOf, type ServerJob, type ServerJobs } from '../../workflow/server-jobs.js';

/** A job of the configuration with its defaults. */
export interface EffectiveJob {
  /** Tool that starts the job. */
  readonly tool: string;
  readonly status: string;
  readonly cancel: string | undefined;
  readonly resultTool: string | undefined;
  readonly id: string;
  readonly argument: string;
  readonly state: string;
  /** States in lower case, like the two that follow. */
  readonly done: readonly string[];
  readonly failed: readonly string[];
  readonly cancelled: readonly string[];
  readonly missing: readonly (string | number)[];
  readonly result: string | undefined;
  readonly messages: readonly string[];
  readonly pollAfterMs: number | undefined;
}

/** Returns the job that `tool` starts, or undefined if the tool starts none. */
export function effectiveJob(jobs: ServerJobs | undefined, tool: string): EffectiveJob | undefined {
  const job = jobs !== undefined && Object.hasOwn(jobs, tool) ? jobs[tool] : undefined;
  return job === undefined ? undefined : withDefaults(tool, job);
}

function withDefaults(tool: string, job: ServerJob): EffectiveJob {
  const { status, id, cancel, resultTool, result, message, pollAfter } = job;
  return {
    tool,
    status,
    cancel,
    resultTool,
    id,
    argument: job.argument ?? id.slice(id.lastIndexOf('.') + 1),
    state: job.state ?? 'status',
    ...statesOf(job),
    missing: job.missing ?? [],
    result,
    messages: message === undefined ? ['message', 'error.message', 'error'] : [message],
    pollAfterMs: pollAfter === undefined ? undefined : durationToMs(pollAfter, 'pollAfter'),
  };
}
