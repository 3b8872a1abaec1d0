import { type Caller, mayDo } from '../base/caller.js';
import { EngineError } from '../base/errors.js';
import { lazy } from '../base/lazy.js';
import type { Deps } from '../operations/deps.js';
import { requireOwnRun } from '../operations/own-run.js';
import { inputNotFound } from '../operations/read-question.js';
import type { Route } from '../topology/routes.js';
import { requireBearer } from './access.js';

export interface DoorOptions {
  /**
   * Returns the bearer tokens of the first admin, which management routes accept besides named keys; called for each
   * request. If there are none, only named keys are accepted. Leave the option out to require no credential, for a server
   * that only this machine can reach.
   */
  readonly managementTokens?: () => readonly string[] | Promise<readonly string[]>;
  /**
   * Whether an authorizer of the gateway decides about management requests: those that have passed it are served, others
   * are refused. Default: false.
   */
  readonly byAuthorizer?: boolean;
}

/** What a request comes with besides itself, and no client can forge. */
export interface Arrival {
  /** What the authorizer of the gateway says about the caller. */
  readonly authorizer?: unknown;
  readonly sourceIp?: string | undefined;
}

/** Who sends requests to a server that only this machine can reach. Not recorded: it is always the same one. */
const local: Caller = { id: 'local', roles: ['admin'] };
const firstAdmin: Caller = { id: 'management', roles: ['admin'] };

const loadAuthorizedCaller = lazy(() => import('./authorizer-caller.js'));
const loadAuthenticateKey = lazy(() => import('../operations/authenticate-key.js'));

/**
 * Returns the caller of a request to a management route, from its credential alone.
 * @throws EngineError `UNAUTHORIZED`
 */
export async function callerOf(deps: Deps, request: Request, arrival: Arrival, options: DoorOptions): Promise<Caller> {
  if (options.byAuthorizer === true) {
    const { authorizedCaller } = await loadAuthorizedCaller();
    return authorizedCaller(arrival.authorizer, deps.app.access);
  }
  const key = /^Bearer +(owk_[^ ]*) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (key !== undefined) return (await loadAuthenticateKey()).authenticateKey(deps, key);
  if (options.managementTokens === undefined) return local;
  requireBearer(request, await options.managementTokens());
  return firstAdmin;
}

/** Returns the dependencies with which the request of a caller is served: what it does is recorded with its id. */
export function depsOf(deps: Deps, caller: Caller): Deps {
  return caller === local ? deps : { ...deps, caller };
}

/**
 * Checks whether the caller may use the route.
 * @throws EngineError `FORBIDDEN`
 */
export function requireRole(caller: Caller, { role, everyTenant }: Route): void {
  if (role !== undefined && !mayDo(caller, role))
    throw new EngineError('FORBIDDEN', `the caller needs the role ${role}`);
  if (everyTenant === true && caller.tenant !== undefined)
    throw new EngineError('FORBIDDEN', 'only callers without a tenant may do this');
}

/**
 * Checks whether the caller may know of the run that the path names.
 * @throws EngineError `RUN_NOT_FOUND`, `INPUT_NOT_FOUND`
 */
export async function requireOwn(deps: Deps, params: Readonly<Record<string, string>>): Promise<void> {
  const { runId, inputId } = params;
  if (runId !== undefined) await requireOwnRun(deps, runId);
  if (inputId !== undefined) await requireOwnRun(deps, inputId.split('.')[0] ?? '', inputNotFound);
}
