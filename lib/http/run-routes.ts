import { defined } from '../base/defined.js';
import type { Context } from 'hono';
import { EngineError } from '../base/errors.js';
import type { RunId } from '../base/ids.js';
import { idempotencyKeyMaxBytes, inboundCompleteMaxBytes } from '../base/limits.js';
import { nameProblem } from '../base/name.js';
import { knownTraceparent } from '../base/trace-context.js';
import { awaitOutcome } from '../operations/views/await-outcome.js';
import type { Deps } from '../operations/deps.js';
import { explainRun } from '../operations/views/explain-run.js';
import { listRuns } from '../operations/views/list-runs.js';
import { showRun } from '../operations/views/show-run.js';
import { requestControl } from '../operations/requests/control-run.js';
import { requestStop } from '../operations/requests/stop-run.js';
import { signalRun } from '../operations/requests/signal-run.js';
import { startNamedRun } from '../operations/requests/start-named-run.js';
import { type StartedRun, startOrSignal, startRun } from '../operations/requests/start-run.js';
import { parseAs, parseQuery } from './parse.js';
import { json } from './problem.js';
import { bodyIn, noQueryIn, queryOf, runIdIn } from './request-parts.js';
import {
  durationFrom,
  emptyBody,
  eventsQuery,
  historyQuery,
  keyHeader,
  listQuery,
  queryBody,
  resultQuery,
  signalBody,
  startBody,
  stopBody,
  tagsFrom,
} from './requests.js';

// Handlers of the routes under /runs.

type Handler = (deps: Deps, context: Context) => Promise<Response>;

export async function start(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const { signal, ...body } = await bodyIn(context, startBody, { maxBytes: inboundCompleteMaxBytes });
  const key = keyOf(context.req.header('idempotency-key'), body.key);
  // The key of a delayed start would be found long before there is a run to find.
  if (key !== undefined && body.delay !== undefined)
    throw new EngineError('INPUT_INVALID', 'a start takes a key or a delay, not both');
  const request = {
    workflow: body.workflow,
    ...defined({
      input: body.input,
      delayMs: body.delay === undefined ? undefined : durationFrom(body.delay, 'delay'),
      timeoutMs: body.timeout === undefined ? undefined : durationFrom(body.timeout, 'timeout'),
      concurrencyKey: body.concurrencyKey,
      tags: body.tags,
      callback: body.callback,
      traceparent: knownTraceparent(context.req.header('traceparent')),
    }),
  };
  if (body.id !== undefined) {
    if (key !== undefined || signal !== undefined) {
      throw new EngineError('INPUT_INVALID', 'a start takes an id or a key (with or without a signal), not both');
    }
    const { id, whenRunning, whenEnded } = body;
    return started(await startNamedRun(deps, { ...request, id, ...defined({ whenRunning, whenEnded }) }));
  }
  if (body.whenRunning !== undefined || body.whenEnded !== undefined) {
    throw new EngineError('INPUT_INVALID', 'whenRunning and whenEnded need an id');
  }
  if (signal === undefined) return started(await startRun(deps, { ...request, ...defined({ key }) }));
  if (key === undefined) throw new EngineError('INPUT_INVALID', 'a start with a signal needs a key');
  return started(await startOrSignal(deps, { ...request, key, signal: defined(signal) }));
}

function started({ runId, deduplicated, debounced }: StartedRun): Response {
  if (debounced === true) return json(200, { runId, debounced });
  return deduplicated ? json(200, { runId, deduplicated }) : json(201, { runId }, { location: `/runs/${runId}` });
}

function keyOf(header: string | undefined, inBody: string | undefined): string | undefined {
  const inHeader = header === undefined ? undefined : parseAs(keyHeader, header, 'the header Idempotency-Key');
  if (inHeader !== undefined && inBody !== undefined && inHeader !== inBody) {
    throw new EngineError('INPUT_INVALID', 'key and the header Idempotency-Key differ');
  }
  return inHeader ?? inBody;
}

export async function list(deps: Deps, context: Context): Promise<Response> {
  const { limit, tag, match, ...filter } = parseQuery(listQuery, queryOf(context), ['tag']);
  if (match !== undefined) {
    if (queryOf(context).size > 1) throw new EngineError('INPUT_INVALID', 'match goes with no other parameter');
    // Loaded late: only people look for runs by less than their ids.
    const { findRuns } = await import('../operations/views/find-runs.js');
    return json(200, await findRuns(deps, match));
  }
  const tags = tag === undefined ? undefined : tagsFrom(tag);
  return json(200, await listRuns(deps, { limit, ...defined({ ...filter, tags }) }));
}

export async function show(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await showRun(deps, runIdIn(context)));
}

export async function why(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  return json(200, await explainRun(deps, runIdIn(context)));
}

export async function history(deps: Deps, context: Context): Promise<Response> {
  const runId = runIdIn(context);
  const { pageHistory } = await import('../operations/views/page-history.js');
  return json(200, await pageHistory(deps, runId, defined(parseQuery(historyQuery, queryOf(context)))));
}

/** Responds 204 while the run, or its last successor, is under way; `Retry-After` says when to ask again. */
export async function result(deps: Deps, context: Context): Promise<Response> {
  const runId = runIdIn(context);
  const { wait = 0 } = parseQuery(resultQuery, queryOf(context));
  const ended = await awaitOutcome(deps, runId, wait * 1_000);
  if (ended === undefined) return new Response(null, { status: 204, headers: { 'retry-after': '5' } });
  return json(200, { runId, outcome: ended.outcome, ...defined({ lastRunId: otherThan(runId, ended.runId) }) });
}

/** Returns the id of the last successor of the requested run; undefined if there is none. */
function otherThan(runId: RunId, lastRunId: RunId): RunId | undefined {
  return lastRunId === runId ? undefined : lastRunId;
}

export async function events(deps: Deps, context: Context): Promise<Response> {
  const runId = runIdIn(context);
  const { after, wait } = parseQuery(eventsQuery, queryOf(context));
  const waitMs = wait === undefined ? undefined : wait * 1_000;
  const { followRun } = await import('../operations/views/follow-run.js');
  return json(200, await followRun(deps, runId, defined({ after, waitMs })));
}

export function stop(kind: 'cancel' | 'terminate'): Handler {
  return async (deps, context) => {
    noQueryIn(context);
    const runId = runIdIn(context);
    const body = await bodyIn(context, stopBody, { emptyAllowed: true });
    return json(202, await requestStop(deps, { runId, kind, ...defined(body) }));
  };
}

export function control(kind: 'pause' | 'resume' | 'retryNow'): Handler {
  return async (deps, context) => {
    noQueryIn(context);
    const runId = runIdIn(context);
    await bodyIn(context, emptyBody, { emptyAllowed: true });
    return json(202, await requestControl(deps, runId, kind));
  };
}

export async function signal(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const runId = runIdIn(context);
  const name = nameIn(context, 'signal');
  const body = await bodyIn(context, signalBody, { emptyAllowed: true });
  return json(202, await signalRun(deps, runId, { name, ...defined(body) }));
}

export async function query(deps: Deps, context: Context): Promise<Response> {
  noQueryIn(context);
  const runId = runIdIn(context);
  const name = nameIn(context, 'query');
  const { input } = await bodyIn(context, queryBody, { emptyAllowed: true });
  // Loaded late: it pulls in everything that runs a workflow.
  const { queryRun } = await import('../operations/views/query-run.js');
  const answer = await queryRun(deps, runId, name, input);
  return json(200, defined({ result: answer.result, lastRunId: otherThan(runId, answer.runId) }));
}

/** @throws EngineError `INPUT_INVALID` */
function nameIn(context: Context, what: string): string {
  const name = context.req.param('name') ?? '';
  const problem = nameProblem(name, { maxBytes: idempotencyKeyMaxBytes });
  if (problem === undefined) return name;
  throw new EngineError('INPUT_INVALID', `the name of a ${what} ${problem}`);
}
