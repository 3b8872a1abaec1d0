import { hasCode } from '../../../lib/base/errors.js';
import { inputIdOf } from '../../../lib/base/ids.js';
import type { EpochMs } from '../../../lib/base/time.js';
import { awaitOutcome } from '../../../lib/operations/views/await-outcome.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { heartbeatToken } from '../../../lib/operations/requests/heartbeat-token.js';
import { answerQuestion } from '../../../lib/operations/requests/answer-question.js';
import { queryRun } from '../../../lib/operations/views/query-run.js';
import { requestControl } from '../../../lib/operations/requests/control-run.js';
import { requestStop } from '../../../lib/operations/requests/stop-run.js';
import { signalRun } from '../../../lib/operations/requests/signal-run.js';
import { settleToken } from '../../../lib/operations/requests/settle-token.js';
import { startNamedRun } from '../../../lib/operations/requests/start-named-run.js';
import { startOrSignal, startRun } from '../../../lib/operations/requests/start-run.js';
import type { World } from '../world.js';
import { short } from './book.js';
import { send } from './deliveries.js';
import type { Oracles } from './oracles.js';
import { Relays } from './relays.js';
import { startLimited } from './start-limited.js';
import { tenantOf, type Tenants } from './tenants.js';
import type { ServedRequest } from './served/served.js';
import type { Case, Request as AnyRequest } from './timetable.js';

/** A request to runs, and not to what is served. */
type Request = Exclude<AnyRequest, ServedRequest>;

const S = 1_000;

/** A request that was answered with an error. */
interface Failed {
  readonly request: Request;
  readonly error: unknown;
  readonly begunAtMs: EpochMs;
  readonly tenant: string | undefined;
}

/** What callers act on. */
interface Scene {
  readonly given: Case;
  readonly world: World;
  readonly oracles: Oracles;
  readonly tenants: Tenants | undefined;
}

/** The callers of one case; checks what each is told. */
export class Callers {
  readonly #case: Case;
  readonly #world: World;
  readonly #oracles: Oracles;
  readonly #tenants: Tenants | undefined;
  readonly #relays: Relays | undefined;
  #keys = 0;

  constructor({ given, world, oracles, tenants }: Scene) {
    const { relays } = given.agent ?? {};
    this.#relays = relays === undefined ? undefined : new Relays(oracles.known, relays);
    this.#case = given;
    this.#world = world;
    this.#oracles = oracles;
    this.#tenants = tenants;
  }

  /** Makes a request, as a process of its own. */
  make(request: Request): void {
    const world = this.#world;
    const runId = 'run' in request ? this.#pickRun(request.run) : undefined;
    if ('run' in request && runId === undefined) return;
    if (request.what === 'burst') {
      this.#burst(runId!, request.count);
      return;
    }
    const begunAtMs = world.nowMs;
    world.request('caller', async (given) => {
      const deps = this.depsOf(request, given);
      try {
        if (runId !== undefined) await this.#tenants?.letIn(deps, runId);
        await this.#ask(deps, request, runId ?? '');
      } catch (error) {
        this.#check({ request, error, begunAtMs, tenant: deps.caller?.tenant });
      }
    });
  }

  /** Returns the dependencies of who makes a request: one of a tenant, except for the senders of deliveries. */
  depsOf(request: Request, given: Deps): Deps {
    if (this.#tenants === undefined || request.what === 'deliver' || request.what === 'relay') return given;
    return this.#tenants.asCaller(given, request.what === 'startLimited' ? request.key : undefined);
  }

  /** Checks what a caller gets: refusals are valid answers, anything else is not. */
  #check({ request, error, begunAtMs, tenant }: Failed): void {
    if (request.what === 'startLimited' || request.what === 'deliver') {
      const { starts } = this.#oracles;
      const on = request.what === 'startLimited' ? request.on : 'limited';
      if (hasCode(error, 'CONCURRENCY_KEY_BUSY')) {
        starts.onBusy({ ...request, on, tenant }, begunAtMs);
        return;
      }
      if (hasCode(error, 'START_THROTTLED')) {
        starts.onThrottled({ ...request, tenant }, begunAtMs);
        return;
      }
      // The version without the workflows has no hooks either; and a clock that far ahead finds a signature too old.
      if (hasCode(error, 'UNAUTHORIZED') && (this.#case.deploy?.kind === 'missing' || this.#case.skews.length > 0))
        return;
    }
    const expected = [
      'STORE_UNAVAILABLE',
      'STORE_RESULT_UNKNOWN',
      'RUN_ENDED',
      'RUN_EXISTS',
      'RUN_NOT_FOUND',
      'TENANT_LIMIT_REACHED',
      'WORKFLOW_NOT_FOUND',
      'TOKEN_INVALID',
      'INPUT_INVALID',
      'INPUT_NOT_FOUND',
      'KEY_REUSED',
      'QUERY_NOT_FOUND',
      'NONDETERMINISM',
      'QUERY_TIMED_OUT',
      'HISTORY_FORMAT_UNKNOWN',
    ] as const;
    if (!expected.some((code) => hasCode(error, code)))
      this.#world.fail('caller-fails', `${request.what}: ${error instanceof Error ? error.message : 'unknown'}`);
  }

  async #ask(deps: Deps, request: Request, runId: string): Promise<void> {
    const oracles = this.#oracles;
    switch (request.what) {
      case 'start':
      case 'startNamed': {
        const terms = {
          workflow: 'main',
          input: { round: 0 },
          ...(request.timeout === undefined ? {} : { timeoutMs: request.timeout * S }),
          ...(request.delay === undefined ? {} : { delayMs: request.delay * S }),
        };
        if (request.what === 'start') await startRun(deps, { ...terms, key: request.key });
        else {
          const { id, whenRunning, whenEnded } = request;
          await startNamedRun(deps, { ...terms, id, whenRunning, whenEnded });
        }
        return;
      }
      case 'startOrSignal':
        await this.#startOrSignal(deps, request);
        return;
      case 'startLimited': {
        const begunAtMs = this.#world.nowMs;
        oracles.starts.onStarted(request, await startLimited(deps, request), begunAtMs);
        return;
      }
      case 'deliver':
        oracles.deliveries.onReceived(request, await send(deps, request, this.#world.nowMs));
        return;
      case 'pause':
      case 'resume':
      case 'retryNow':
        await requestControl(deps, runId, request.what);
        return;
      case 'cancel':
      case 'terminate':
        await requestStop(deps, { runId, kind: request.what, requestId: `r${++this.#keys}` });
        return;
      case 'signal':
        await signalRun(deps, runId, {
          name: request.name,
          payload: this.#payload(request.name),
          key: `s${++this.#keys}`,
        });
        return;
      case 'settle':
        await this.#settle(deps, request.pick);
        return;
      case 'relay': {
        const wait = this.#pickWait(request.pick, (item) => item['server'] !== undefined);
        if (wait !== undefined) await this.#relays?.settle(deps, wait, request.by);
        return;
      }
      case 'heartbeat':
        await this.#heartbeat(deps, request.pick, request.by);
        return;
      case 'answer': {
        const wait = this.#pickWait(request.pick, (item) => item['form'] !== undefined);
        if (wait !== undefined) await this.#tenants?.letIn(deps, wait.runId);
        if (wait !== undefined)
          await answerQuestion(deps, inputIdOf(wait.runId, wait.waitId), { action: 'accept', content: 'yes' });
        return;
      }
      case 'outcome': {
        await this.#tenants?.checkList(deps);
        const ended = await awaitOutcome(deps, runId, 10 * S);
        if (ended?.outcome.status === 'continued')
          this.#world.fail('reader-stopped', `awaitOutcome of run ${short(runId)} says that it is continued`);
        return;
      }
      case 'query':
        await this.#query(deps, runId);
        return;
      case 'burst':
        return;
    }
  }

  async #startOrSignal(deps: Deps, { key, name }: Extract<Request, { what: 'startOrSignal' }>): Promise<void> {
    const first = this.#world.tokens.keyedRunId('main', key, ...tenantOf(deps));
    const before = this.#oracles.lastOf(first);
    const wasRunning = before?.head.status === 'running';
    try {
      const signal = { name, payload: this.#payload(name), key: `s${++this.#keys}` };
      await startOrSignal(deps, { workflow: 'main', input: { round: 0 }, key, signal });
    } catch (error) {
      if (hasCode(error, 'RUN_ENDED') && wasRunning && this.#oracles.lastOf(first)?.head.status === 'running')
        this.#world.fail('start-or-signal-refused', `run ${short(before.runId)} of this key is running`);
      throw error;
    }
  }

  async #query(deps: Deps, runId: string): Promise<void> {
    const before = this.#oracles.lastOf(runId);
    const { result: answer } = await queryRun(deps, runId, 'round', undefined);
    const isLive = before?.startedAtMs !== undefined && this.#oracles.lastOf(runId) === before;
    const round = (before?.head.input as { readonly round?: number } | undefined)?.round;
    if (isLive && typeof answer === 'number' && answer < (round ?? 0))
      this.#world.fail(
        'reader-stopped-query',
        `asked run ${short(runId)}: round ${answer}, it is in round ${round ?? 0}`,
      );
  }

  #payload(name: string): string {
    return `${name}:${++this.#keys}`;
  }

  async #settle(deps: Deps, pick: number): Promise<void> {
    const { relays } = this.#case.agent ?? {};
    const fits = (item: Record<string, unknown>): boolean =>
      item['form'] === undefined && (relays === undefined || item['server'] === undefined);
    const wait = this.#pickWait(pick, fits);
    if (wait === undefined) return;
    const { runId, waitId } = wait;
    const clockMs = deps.clock.nowMs();
    const isPast = (): boolean => Number(this.#tokenOf(wait)?.['deadlineAtMs'] ?? Infinity) <= clockMs;
    const wasPast = isPast();
    const token = deps.tokens.settleToken({ runId, waitId });
    const answer = await settleToken(deps, { token, outcome: { kind: 'completed', result: 'done', isError: false } });
    if (!answer.settled) return;
    const label = `wait ${waitId} of run ${short(runId)}`;
    if (this.#world.settledTrue.includes(label)) this.#world.fail('settled-twice', label);
    this.#world.settledTrue.push(label);
    if (wasPast && isPast()) this.#world.fail('settled-past-deadline', label);
  }

  async #heartbeat(deps: Deps, pick: number, by: number): Promise<void> {
    const isMovable = (item: Record<string, unknown>): boolean =>
      item['server'] === undefined &&
      item['childRunId'] === undefined &&
      item['stepFailures'] === undefined &&
      item['deadlineAtMs'] !== undefined;
    const wait = this.#pickWait(pick, isMovable);
    if (wait === undefined) return;
    const clockMs = deps.clock.nowMs();
    const answer = await heartbeatToken(deps, { token: deps.tokens.settleToken(wait), extendByMs: by * S });
    // As it was at the write: another heartbeat, by a clock that is behind, may have come before this one.
    const wasPast = (this.#oracles.movedFrom(wait) ?? Infinity) <= clockMs;
    if (wasPast && !answer.settled)
      this.#world.fail('heartbeat-revives', `wait ${wait.waitId} of run ${short(wait.runId)}`);
  }

  #pickRun(which: number): string | undefined {
    const runIds = this.#oracles.books.map(({ runId }) => runId);
    return runIds.length === 0 ? undefined : runIds[which % runIds.length];
  }

  /** Picks one of the open waits whose item exists, or of all if there is none. */
  #pickWait(
    pick: number,
    fits: (item: Record<string, unknown>) => boolean,
  ): { readonly runId: string; readonly waitId: string } | undefined {
    const all = this.#oracles.books.flatMap(({ runId, items }) =>
      [...items.values()].flatMap((item) => (item.sk.startsWith('t#') && fits(item) ? [{ runId, item }] : [])),
    );
    const open = all.filter(({ item }) => item['settledAtMs'] === undefined);
    const from = open.length > 0 ? open : all;
    const found = from[pick % Math.max(1, from.length)];
    return found === undefined ? undefined : { runId: found.runId, waitId: found.item.sk.slice(2) };
  }

  #tokenOf({ runId, waitId }: { readonly runId: string; readonly waitId: string }) {
    return this.#oracles.book(runId)?.items.get(`t#${waitId}`);
  }

  #burst(runId: string, count: number): void {
    const deps = this.#world.depsAside();
    // Names are long in bytes, few, and distinguished by their beginnings.
    const long = '漢'.repeat(120);
    const send = async (): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const name = `${String(n).padStart(5, '0')}${long}`;
        const { accepted } = await signalRun(deps, runId, { name, payload: n, key: `k${long}` });
        if (!accepted) return;
      }
    };
    void send();
  }
}
