import type { Role } from '../base/caller.js';

// Routes of the HTTP API: `lib/http` serves them, the CDK stack routes their paths to the `api` function, and
// docs/reference.md lists them. Routes that are not in this table do not exist.

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Path in the form of API Gateway: `{name}` stands for one segment. */
  readonly path: string;
  /**
   * `capability`: a settle token in the path, header or body is the credential; `hook`: the sender signs, or sends a
   * token of its own. No authorizer may be in front of either.
   */
  readonly access: 'open' | 'management' | 'capability' | 'hook';
  /** The role that a caller of a management route needs. */
  readonly role?: Role;
  /** Set if what the route shows or changes belongs to no tenant: callers with a tenant are refused. */
  readonly everyTenant?: true;
}

type Row = (method: Route['method'], path: string) => Route;
const open: Row = (method, path) => ({ method, path, access: 'open' });
const reading: Row = (method, path) => ({ method, path, access: 'management', role: 'read' });
const operating: Row = (method, path) => ({ method, path, access: 'management', role: 'operate' });
const readingAll: Row = (method, path) => ({ ...reading(method, path), everyTenant: true });
const operatingAll: Row = (method, path) => ({ ...operating(method, path), everyTenant: true });
const administering: Row = (method, path) => ({ method, path, access: 'management', role: 'admin', everyTenant: true });
const capability: Row = (method, path) => ({ method, path, access: 'capability' });
const hook: Row = (method, path) => ({ method, path, access: 'hook' });

export const routes = {
  checkHealth: open('GET', '/healthz'),
  startRun: operating('POST', '/runs'),
  listRuns: reading('GET', '/runs'),
  showRun: reading('GET', '/runs/{runId}'),
  explainRun: reading('GET', '/runs/{runId}/why'),
  readHistory: reading('GET', '/runs/{runId}/history'),
  awaitResult: reading('GET', '/runs/{runId}/result'),
  followRun: reading('GET', '/runs/{runId}/events'),
  cancelRun: operating('POST', '/runs/{runId}/cancel'),
  terminateRun: operating('POST', '/runs/{runId}/terminate'),
  pauseRun: operating('POST', '/runs/{runId}/pause'),
  resumeRun: operating('POST', '/runs/{runId}/resume'),
  retryNow: operating('POST', '/runs/{runId}/retry-now'),
  signalRun: operating('POST', '/runs/{runId}/signals/{name}'),
  queryRun: reading('POST', '/runs/{runId}/queries/{name}'),
  settleWait: operating('POST', '/runs/{runId}/waits/{waitId}/settle'),
  pollRemoteTask: operating('POST', '/runs/{runId}/waits/{waitId}/poll'),
  cancelRemoteTask: operating('POST', '/runs/{runId}/waits/{waitId}/cancel-remote'),
  listRemoteTasks: reading('GET', '/remote-tasks'),
  readRemoteTask: operatingAll('GET', '/remote-tasks/{server}'),
  listInputs: reading('GET', '/inputs'),
  showInput: reading('GET', '/inputs/{inputId}'),
  answerInput: operating('POST', '/inputs/{inputId}'),
  listServers: readingAll('GET', '/servers'),
  listSchedules: readingAll('GET', '/schedules'),
  pauseSchedule: operatingAll('POST', '/schedules/{name}/pause'),
  resumeSchedule: operatingAll('POST', '/schedules/{name}/resume'),
  addKey: administering('POST', '/keys'),
  listKeys: administering('GET', '/keys'),
  rotateKey: administering('POST', '/keys/{name}/rotate'),
  revokeKey: administering('POST', '/keys/{name}/revoke'),
  listExternalWaits: operating('GET', '/activities/external'),
  completeToken: capability('POST', '/activities/external/{token}/complete'),
  failToken: capability('POST', '/activities/external/{token}/fail'),
  heartbeatToken: capability('POST', '/activities/external/{token}/heartbeat'),
  completeBearer: capability('POST', '/activities/external/complete'),
  failBearer: capability('POST', '/activities/external/fail'),
  heartbeatBearer: capability('POST', '/activities/external/heartbeat'),
  settleBatch: capability('POST', '/activities/external/batch'),
  receiveHook: hook('POST', '/hooks/{name}'),
  receiveA2aPush: hook('POST', '/push/a2a/{pushToken}'),
} satisfies Readonly<Record<string, Route>>;

export type RouteName = keyof typeof routes;

/**
 * Summaries of the routes, in the words of docs/reference.md. Separate from the table, so that the functions' bundles
 * leave the text out.
 */
export const routeSummaries: Readonly<Record<RouteName, string>> = {
  checkHealth: 'answers `{ "status": "ok" }`',
  startRun: 'starts a run',
  listRuns: 'lists runs',
  showRun: 'shows a run and what it waits for',
  explainRun: 'explains what holds a run up',
  readHistory: 'reads the history of a run',
  awaitResult: 'returns the outcome of a run',
  followRun: 'follows the events of a run',
  cancelRun: 'ends a run, which may clean up first',
  terminateRun: 'ends a run at once, without cleanup',
  pauseRun: 'pauses a run, for at most 24 hours',
  resumeRun: 'resumes a paused run',
  retryNow: 'retries now what waits for its next attempt',
  signalRun: 'sends a signal to a run',
  queryRun: 'queries the workflow of a run',
  settleWait: 'settles a wait without its token',
  pollRemoteTask: 'reads a remote task now',
  cancelRemoteTask: 'asks the server to cancel a remote task',
  listRemoteTasks: 'lists remote tasks',
  readRemoteTask: 'reads a task of a server now',
  listInputs: 'lists the questions for people',
  showInput: 'shows one question',
  answerInput: 'answers a question',
  listServers: 'shows the state of each configured server',
  listSchedules: 'shows the state of each schedule',
  pauseSchedule: 'pauses a schedule until it is resumed',
  resumeSchedule: 'resumes a schedule with its next tick',
  addKey: 'makes a named key',
  listKeys: 'lists the named keys',
  rotateKey: 'replaces a named key; the one before stays valid',
  revokeKey: 'revokes a named key, or the one before it',
  listExternalWaits: 'lists the waits that can be settled from outside',
  completeToken: 'settles a wait with a result',
  failToken: 'settles a wait with an error',
  heartbeatToken: 'moves the deadline of a wait',
  completeBearer: 'settles a wait with a result, by bearer token',
  failBearer: 'settles a wait with an error, by bearer token',
  heartbeatBearer: 'moves the deadline of a wait, by bearer token',
  settleBatch: 'settles many waits, or moves their deadlines',
  receiveHook: 'receives a delivery from an external sender',
  receiveA2aPush: 'receives news of a task from an A2A agent',
};

/**
 * Returns the paths of the table, each once: the function accepts any method on a path and answers 405 in its own form.
 */
export function routePaths(): readonly Pick<Route, 'path' | 'access'>[] {
  return [...new Map(Object.values(routes).map(({ path, access }) => [path, { path, access }])).values()];
}
