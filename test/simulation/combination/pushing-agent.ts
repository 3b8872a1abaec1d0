import { hasCode } from '../../../lib/base/errors.js';
import type { EpochMs } from '../../../lib/base/time.js';
import type { InboundRequest } from '../../../lib/inbound/request.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { pushedWait, receivePush, type PushOutcome } from '../../../lib/operations/requests/receive-push.js';
import type { PushRegistration } from '../../../lib/remote/transport.js';
import { toToken } from '../../../lib/store/items/token.js';
import type { TokenRecord } from '../../../lib/history/records.js';
import { signedDelivery } from '../../../lib/testing/signed-delivery.js';
import type { Process, RemoteTask } from '../world.js';
import type { Agent } from './agent.js';
import { hookSecret } from './deliveries.js';
import { Dice } from './dice.js';
import { isTroubledSince, type Known } from './known.js';

const S = 1_000;
/** Time in which a wait ends after a push about the end of its task, if nothing goes wrong. */
const soonMs = 10 * S;

/** Ways to forge a push. `otherTask` is one of the agent's own, about a task that is not the one of the wait. */
const forgeries = ['nothing', 'otherSecret', 'otherWait', 'madeUpUrl', 'otherBody', 'otherTask'] as const;
type Forgery = (typeof forgeries)[number];

/** A push to be sent. */
interface Push {
  readonly task: RemoteTask;
  readonly to: PushRegistration;
  readonly state: 'working' | 'completed';
  readonly forged?: Forgery;
}

/**
 * An agent that pushes at any second: early, twice, late, or not at all; and strangers who push too. Checks that a forged
 * push does nothing, that a wait ends soon after a genuine one, and that registrations are deleted.
 */
export class PushingAgent {
  readonly #known: Known;
  readonly #proof: NonNullable<Agent['pushes']>;
  readonly #dice: Dice;
  readonly #registered = new Map<string, PushRegistration>();
  readonly #forgotten = new Set<string>();
  /** Processes that have settled waits with what they read, and the tasks. */
  readonly #settlers = new Map<string, Process>();

  constructor(known: Known, proof: NonNullable<Agent['pushes']>) {
    this.#known = known;
    this.#proof = proof;
    this.#dice = new Dice(known.given.seed ^ 0x51ed270b);
  }

  /** Draws the pushes of a new task. */
  onTask(task: RemoteTask, to: PushRegistration | undefined): void {
    if (to === undefined) return;
    const { world } = this.#known;
    const dice = this.#dice;
    this.#registered.set(task.taskId, to);
    const at = (atMs: EpochMs, push: Push): void => {
      world.at(atMs, () => {
        if (!task.cancelled || push.state !== 'working') this.#push(push);
      });
    };
    // Some come before the handle is stored, and some while it is.
    for (let n = dice.int(0, 3); n > 0; n--)
      at(task.madeAtMs + dice.pick([0, 50, 310, 330, 2_000, 20_000]), { task, to, state: 'working' });
    for (let n = dice.int(0, 2); n > 0; n--) {
      const forged = dice.pick(forgeries);
      at(task.madeAtMs + dice.pick([0, 320, 1_000, 30_000]), { task, to, state: 'completed', forged });
    }
    if (dice.chance(0.2) || task.endsAtMs > world.nowMs + 1e6 * S) return;
    for (const afterMs of dice.pick([[0], [0], [0, 0], [20, 1_000], [40_000], [0, 300_000]]))
      at(task.endsAtMs + afterMs, { task, to, state: 'completed' });
  }

  /** Ends some tasks just after they were read, and pushes that while the read is taken in. */
  onRead(task: RemoteTask): void {
    const to = this.#registered.get(task.taskId);
    if (to === undefined || task.cancelled || !this.#dice.chance(0.15)) return;
    const { world } = this.#known;
    task.endsAtMs = world.nowMs + 1;
    world.at(world.nowMs + this.#dice.pick([5, 25, 35, 45]), () => {
      this.#push({ task, to, state: 'completed' });
    });
  }

  onForgotten(taskId: string): void {
    this.#forgotten.add(taskId);
  }

  /** Called when a token is settled. */
  onSettled({ settlement, handle }: TokenRecord): void {
    const { writer } = this.#known.world;
    if (settlement?.by === 'poll' && settlement.outcome.kind === 'completed' && handle?.pushConfigId !== undefined)
      if (writer !== undefined) this.#settlers.set(handle.taskId, writer);
  }

  /** Checks an operation of a process: that of a stranger may read, and nothing else. */
  onOperation(tag: string, process: string): void {
    if (process.startsWith('stranger') && !/^(get|query) /.test(tag)) this.#fail('forged-push-acts', tag);
  }

  /** Checks that the registration of a task that was read to its end is deleted, unless the process that read it had trouble. */
  checkForgotten(): void {
    const { world } = this.#known;
    for (const [taskId, { name, troubledAtMs }] of this.#settlers)
      if (!this.#forgotten.has(taskId) && !world.crashed.has(name) && troubledAtMs === 0)
        this.#fail('push-registration-left', `${taskId} was settled by ${name}`);
  }

  #push(push: Push): void {
    const { world, given } = this.#known;
    const isStranger = push.forged !== undefined && push.forged !== 'otherTask';
    const process: Process = world.request(isStranger ? 'stranger' : 'agent', async (deps) => {
      const sentAtMs = world.nowMs;
      let outcome: PushOutcome;
      try {
        const { url, request } = this.#request(deps, push);
        outcome = await receivePush(deps, pushedWait(deps, url), request);
      } catch (error) {
        const isRefused = hasCode(error, 'UNAUTHORIZED') && (isStranger || given.skews.length > 0);
        // The item comes before the start, so it is missing only if it was taken away.
        const isMissing = hasCode(error, 'TOKEN_INVALID') && this.#isLost(push.task);
        const isDown = hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'STORE_RESULT_UNKNOWN');
        if (!isRefused && !isMissing && !isDown)
          this.#fail('push-refused', `${push.task.taskId}: ${error instanceof Error ? error.message : 'unknown'}`);
        return;
      }
      this.#check(push, outcome, sentAtMs, process);
    });
  }

  #check({ task, forged, state }: Push, outcome: PushOutcome, sentAtMs: EpochMs, process: Process): void {
    const { world, given } = this.#known;
    const { taskId } = task;
    if (forged !== undefined) {
      // Before the handle is known, any task may be the one.
      if (forged !== 'otherTask' || outcome === 'poked') this.#fail('forged-push-taken', `${forged}: ${outcome}`);
      return;
    }
    const token = this.#tokenOf(task);
    if (outcome === 'mismatch' && token?.handle?.taskId === taskId) this.#fail('push-mismatched', taskId);
    if (state === 'working' ? outcome === 'poked' : outcome === 'noted' && token?.handle !== undefined)
      if (process.troubledAtMs === 0 && (token?.startedAtMs ?? Infinity) < sentAtMs - this.#known.skewMs)
        this.#fail('push-taken-otherwise', `${state}: ${outcome}`);
    if (outcome !== 'poked' || given.missingFor > 0) return;
    // A read may have to wait for the limits of the server.
    const isLimited = given.agent?.perMinute !== undefined || given.agent?.concurrency !== undefined;
    world.at(world.nowMs + (isLimited ? 8 * 60 * S : soonMs), () => {
      if (isTroubledSince(this.#known, sentAtMs - S) || this.#isLost(task)) return;
      if (this.#tokenOf(task)?.settlement === undefined)
        this.#fail('push-without-end', `the wait for ${taskId} goes on long after a push about its end`);
    });
  }

  /** Returns the last part of the URL, and what is sent there. */
  #request(deps: Deps, { task, to, state, forged }: Push): { readonly url: string; readonly request: InboundRequest } {
    const { world } = this.#known;
    const url = to.url.slice(to.url.lastIndexOf('/') + 1);
    const taskId = forged === 'otherTask' ? `${task.taskId}x` : task.taskId;
    const body = JSON.stringify({ statusUpdate: { taskId, status: { state: `TASK_STATE_${state.toUpperCase()}` } } });
    const others = [...this.#registered.values()].filter(({ id }) => id !== to.id);
    const secret = this.#secretOf(forged === 'otherWait' ? others[0] : to, forged);
    const headers =
      this.#proof === 'secret'
        ? { ...(forged === 'nothing' ? {} : { 'x-a2a-notification-token': secret }) }
        : forged === 'nothing'
          ? {}
          : signedDelivery(this.#proof, { secret, body, atMs: world.nowMs, deliveryId: `${task.taskId}-${state}` })
              .headers;
    const isOtherBody = forged === 'otherBody' && this.#proof !== 'secret' && this.#proof !== 'bearer';
    return {
      url: forged === 'madeUpUrl' ? `${url.slice(0, -4)}AAAA` : url,
      request: { headers, body: Buffer.from(isOtherBody ? `${body} ` : body), atMs: deps.clock.nowMs() },
    };
  }

  #secretOf(to: PushRegistration | undefined, forged: Forgery | undefined): string {
    const isForged = forged === 'otherSecret' || (forged === 'otherBody' && ['secret', 'bearer'].includes(this.#proof));
    if (this.#proof === 'secret') return isForged ? 'a guess' : (to?.secret ?? 'none');
    // A secret for all calls, which the sender of another wait has too.
    return isForged || forged === 'otherWait' ? `whsec_${Buffer.from('another').toString('base64')}` : hookSecret;
  }

  #tokenOf({ key }: RemoteTask): TokenRecord | undefined {
    const { runId, waitId } = this.#known.world.callOf(key);
    const item = this.#known.books.get(runId)?.items.get(`t#${waitId}`);
    return item === undefined ? undefined : toToken(item);
  }

  #isLost({ key }: RemoteTask): boolean {
    return this.#known.books.get(this.#known.world.callOf(key).runId)?.chain.hasLoss === true;
  }

  #fail(kind: string, detail: string): void {
    this.#known.world.fail(kind, detail);
  }
}
