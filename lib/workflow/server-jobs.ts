import { pollHintMaxMs } from '../base/limits.js';
import { isList } from '../base/list.js';
import { durationToMs, type Duration } from '../base/time.js';

/**
 * A job that a server offers as plain tools: one tool starts it, one reports its state, and often one stops it. A path
 * is a name, or several names separated by dots, in the structured content of a reply, or else in the JSON of its first
 * text.
 */
export interface ServerJob {
  /** The tool that reports the state of the job. */
  readonly status: string;
  /** Path of the job's id in the reply to the start: a string or a whole number. */
  readonly id: string;
  /** The argument that passes the id to the other tools. Default: the last name of `id`. */
  readonly argument?: string;
  /** The tool that stops the job. Default: none, and the job cannot be stopped. */
  readonly cancel?: string;
  /**
   * The tool that returns the result of a finished job. Default: the reply with the final state contains the result.
   */
  readonly resultTool?: string;
  /** Path of the state in a reply of the `status` tool. Default `status`. */
  readonly state?: string;
  /**
   * States of a job that succeeded, case-insensitive like the next two. A state in none of the three lists means
   * "running".
   */
  readonly done?: readonly string[];
  /** States of a job that failed. */
  readonly failed?: readonly string[];
  /** States of a job that was stopped. */
  readonly cancelled?: readonly string[];
  /**
   * Signs that the server does not have the job: a string that equals the state or occurs in an error of the tool, or
   * the code of a JSON-RPC error. Default: none.
   */
  readonly missing?: readonly (string | number)[];
  /** Path of the result in the reply that contains it. Default: the whole reply. */
  readonly result?: string;
  /** Path of the progress or failure message. Default: `message`, or else `error.message`, or else `error`. */
  readonly message?: string;
  /** Shortest pause before each read of the state: 1 second to 1 hour. Default: the same as for other tasks. */
  readonly pollAfter?: Duration;
}

/** Jobs by the name of the tool that starts them. */
export type ServerJobs = Readonly<Record<string, ServerJob>>;

// Without "success" and "ok": many servers use them to say that the start has succeeded.
const doneWords = ['completed', 'complete', 'succeeded', 'done', 'finished'];
const failedWords = ['failed', 'failure', 'error'];
const cancelledWords = ['cancelled', 'canceled'];

/** Returns the states of each end, in lower case. A state that is listed for one end is not a default for another. */
export function statesOf(job: ServerJob): Readonly<Record<(typeof stateFields)[number], readonly string[]>> {
  const listed = stateFields.flatMap((field) => lower(job[field] ?? []));
  const words = (field: (typeof stateFields)[number], usual: readonly string[]): readonly string[] =>
    lower(job[field] ?? usual.filter((word) => !listed.includes(word)));
  return {
    done: words('done', doneWords),
    failed: words('failed', failedWords),
    cancelled: words('cancelled', cancelledWords),
  };
}

function lower(words: readonly string[]): readonly string[] {
  return words.map((word) => word.toLowerCase());
}

const toolFields = ['status', 'cancel', 'resultTool'] as const;
const pathFields = ['id', 'state', 'result', 'message'] as const;
const stateFields = ['done', 'failed', 'cancelled'] as const;
const fields: readonly string[] = [...toolFields, ...pathFields, ...stateFields, 'argument', 'missing', 'pollAfter'];
const toolNameMaxChars = 256;

/** Returns what is wrong with the jobs, if anything: the field, what was expected and what was given. */
export function problemWithJobs(jobs: unknown): string | undefined {
  if (!isRecord(jobs)) return `jobs must be an object with a job for each tool that starts one, got ${shown(jobs)}`;
  for (const [tool, job] of Object.entries(jobs)) {
    if (!isToolName(tool)) return `jobs: the name of a tool must have 1 to ${toolNameMaxChars} characters`;
    const problem = problemWithJob(job) ?? problemWithTools(job as ServerJob, jobs);
    if (problem !== undefined) return `jobs.${tool}${problem}`;
  }
  return undefined;
}

function problemWithJob(job: unknown): string | undefined {
  if (!isRecord(job)) return ` must be an object such as { status: 'get_status', id: 'job_id' }, got ${shown(job)}`;
  for (const field of Object.keys(job))
    if (!fields.includes(field)) return `.${field} is not an option of a job; use ${fields.join(', ')}`;
  for (const field of ['status', 'id'])
    if (job[field] === undefined) return `.${field} is missing: ${field === 'id' ? 'the path of the id' : 'a tool'}`;
  for (const field of toolFields)
    if (job[field] !== undefined && !isToolName(job[field]))
      return `.${field} must be the name of a tool, got ${shown(job[field])}`;
  for (const field of pathFields)
    if (job[field] !== undefined && !isPath(job[field]))
      return `.${field} must be a path such as "job.id", got ${shown(job[field])}`;
  if (job['argument'] !== undefined && (typeof job['argument'] !== 'string' || job['argument'] === ''))
    return `.argument must be the name of an argument, got ${shown(job['argument'])}`;
  return problemWithStates(job) ?? problemWithMissing(job['missing']) ?? problemWithPause(job['pollAfter']);
}

/** Returns the problem if a tool of the job starts a job itself: reading a job must not start another one. */
function problemWithTools(job: ServerJob, jobs: object): string | undefined {
  const field = toolFields.find((one) => Object.hasOwn(jobs, job[one] ?? ''));
  return field === undefined ? undefined : `.${field} is "${job[field] ?? ''}", which starts a job itself`;
}

function problemWithStates(job: Readonly<Record<string, unknown>>): string | undefined {
  for (const field of stateFields) {
    const words = job[field];
    if (words !== undefined && !(isList(words) && words.every(isWord)))
      return `.${field} must be a list of states, got ${shown(words)}`;
  }
  // Safe: the types were checked above.
  const lists = statesOf(job as unknown as ServerJob);
  if (lists.done.length === 0) return '.done must list at least one state';
  const [first, second] = stateFields
    .flatMap((field) => lists[field].map((word) => ({ field, word })))
    .flatMap((one, _index, all) => {
      const other = all.find(({ field, word }) => word === one.word && field !== one.field);
      return other === undefined ? [] : [[one, other] as const];
    })
    .flat();
  if (first === undefined || second === undefined) return undefined;
  return `: the state "${first.word}" is in both ${first.field} and ${second.field}`;
}

function problemWithMissing(missing: unknown): string | undefined {
  if (missing === undefined) return undefined;
  const isUsable = isList(missing) && missing.every((one) => isWord(one) || Number.isInteger(one));
  return isUsable ? undefined : `.missing must be a list of strings and error codes, got ${shown(missing)}`;
}

function problemWithPause(pollAfter: unknown): string | undefined {
  if (pollAfter === undefined) return undefined;
  if (!isRecord(pollAfter)) return `.pollAfter must be a duration such as { seconds: 30 }, got ${shown(pollAfter)}`;
  try {
    const ms = durationToMs(pollAfter, 'pollAfter');
    return ms >= 1_000 && ms <= pollHintMaxMs ? undefined : '.pollAfter must be from 1 second to 1 hour';
  } catch (error) {
    return `: ${error instanceof Error ? error.message : 'pollAfter must be a duration'}`;
  }
}

function isToolName(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && value.length <= toolNameMaxChars;
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && value.split('.').every((name) => name !== '');
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  const text =
    typeof value === 'function' ? 'a function' : ((JSON.stringify(value) as string | undefined) ?? String(value));
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
