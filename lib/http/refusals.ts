import type { Caller } from '../base/caller.js';
import { defined } from '../base/defined.js';
import { isEngineError } from '../base/errors.js';
import type { Deps } from '../operations/deps.js';
import { otherTenant } from '../operations/own-run.js';
import { statusOf } from './problem.js';
import type { RouteName } from '../topology/routes.js';

const minuteMs = 60_000;
/** Most log events of one source, and of all, in a minute of one process. */
const perSourceMax = 20;
const perMinuteMax = 200;

const refused: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'TENANT_LIMIT_REACHED', 'START_THROTTLED']);

export interface Refused {
  readonly route?: RouteName | undefined;
  /** Missing if nobody was recognised. */
  readonly caller?: Caller | undefined;
  readonly sourceIp?: string | undefined;
}

/**
 * Counts and logs refused requests: a credential that is not accepted, a role that is missing, a limit, the id of a run
 * of another tenant. Who knocks all the time is logged a few times a minute, and always counted. Neither the request nor
 * the credential is logged.
 */
export class Refusals {
  readonly #deps: Pick<Deps, 'log' | 'metrics' | 'clock'>;
  #minute = 0;
  #count = 0;
  #counts = new Map<string, number>();

  constructor(deps: Pick<Deps, 'log' | 'metrics' | 'clock'>) {
    this.#deps = deps;
  }

  /** Notes an error with which a request is answered, if it is a refusal. */
  note(error: unknown, { route, caller, sourceIp }: Refused): void {
    const reason = reasonOf(error);
    if (reason === undefined) return;
    this.#deps.metrics?.put('Refusals', 1, { status: isEngineError(error) ? String(statusOf[error.code]) : '' });
    const source = caller?.id ?? sourceIp ?? 'unknown';
    const count = this.#countOf(source);
    if (count > perSourceMax || this.#count > perMinuteMax) return;
    this.#deps.log.warn('request refused', {
      reason,
      ...defined({
        route,
        caller: caller?.id,
        tenant: caller?.tenant,
        sourceIp,
        isLastThisMinute: count === perSourceMax || this.#count === perMinuteMax ? true : undefined,
      }),
    });
  }

  #countOf(source: string): number {
    const minute = Math.floor(this.#deps.clock.nowMs() / minuteMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#count = 0;
      this.#counts = new Map();
    }
    const count = (this.#counts.get(source) ?? 0) + 1;
    // Sources beyond the limit of all are not kept: a sender may have any number of addresses.
    if (count <= perSourceMax && this.#count <= perMinuteMax) this.#count++;
    if (this.#count <= perMinuteMax) this.#counts.set(source, count);
    return count;
  }
}

function reasonOf(error: unknown): string | undefined {
  if (!isEngineError(error)) return undefined;
  if (error.cause === otherTenant) return 'OTHER_TENANT';
  return refused.has(error.code) ? error.code : undefined;
}
