import { defined } from '../../base/defined.js';
import type { EpochMs } from '../../base/time.js';
import type { PushConfigRecord } from '../../history/push-config.js';
import type { PushMessage } from '../../queue/queue.js';
import { type Push, type PushAnswer, type PushSender, pushTimeoutMs } from '../../remote/push-sender.js';
import type { Deps } from '../deps.js';
import { pushAt } from '../wake.js';
import { fateOf } from './push-fate.js';
import type { OwedPush } from './owed-push.js';
import { pushOf } from './push-of.js';
import { newsAfter } from './pushes-after.js';
import { endOwed } from './run-callback.js';

/** Time for which a claim stands: each push that is taken extends it. */
const claimMs = 60_000;
/** Time after which a delivery hands over to another one. */
const deliveryMaxMs = 20_000;
/** Age from which a push is passed over. */
const pushAgeMaxMs = 24 * 3_600_000;
/** Reads of the task in one delivery. */
const roundsMax = 20;

/** The receivers that this process knows to answer slowly, by digests of their hosts. */
export interface SlowReceivers {
  isSlow(receiver: string, nowMs: EpochMs): boolean;
  note(receiver: string, push: { readonly tookMs: number; readonly nowMs: EpochMs }): void;
}

/**
 * Sends what a push config is due for, one push after the other. Does nothing if another sender has the config, or if it
 * is not due. What is for a slow receiver is passed on to the slow queue, unless the message comes from there.
 * @throws EngineError if the store fails: the marker brings the config back
 */
export async function deliverPushes(deps: Deps, message: PushMessage, slow?: SlowReceivers): Promise<void> {
  const { runId: taskId, configId, slowReceiver } = message;
  const { pushSender } = deps;
  if (pushSender === undefined) return;
  const store = await deps.store.pushConfigs();
  const claim = { taskId, configId, writerId: deps.random.hex(16) };
  const atMs = deps.clock.nowMs();
  const config = await store.claim(claim, { atMs, claimUntilMs: atMs + claimMs });
  if (config === undefined) return;
  const receiver = deps.digest(new URL(config.receiver.url).host).slice(0, 16);
  const claimed = { store, pushSender, claim, config, startedAtMs: atMs };
  await new Delivery(deps, claimed, { slow, receiver, isPassedOn: slowReceiver !== undefined }).run();
}

/** Yields what a config owes after its cursor, in order. Returns how far it then is; undefined if its task is gone. */
async function* owedBy(
  deps: Deps,
  config: PushConfigRecord,
  cursor: number,
): AsyncGenerator<OwedPush, number | undefined> {
  const { wire, taskId } = config;
  if (wire === 'callback') return yield* endOwed(deps, config, cursor);
  const news = newsAfter(deps, taskId, cursor);
  let next = await news.next();
  for (; next.done !== true; next = await news.next()) {
    const { value } = next;
    yield { ...value, push: async () => pushOf(deps, { ...config, wire }, value) };
  }
  return next.value;
}

type Store = Awaited<ReturnType<Deps['store']['pushConfigs']>>;

interface Claimed {
  readonly store: Store;
  readonly pushSender: PushSender;
  readonly claim: Parameters<Store['rest']>[0];
  readonly config: PushConfigRecord;
  readonly startedAtMs: EpochMs;
}

interface Pace {
  readonly slow: SlowReceivers | undefined;
  /** Digest of the host of the receiver. */
  readonly receiver: string;
  /** Whether the message has come from the slow queue. */
  readonly isPassedOn: boolean;
}

/** The pushes that are sent under one claim. */
class Delivery {
  readonly #deps: Deps;
  readonly #claimed: Claimed;
  readonly #pace: Pace;
  #cursor: number;
  #failures: number;
  #refusals: number;
  #claimUntilMs: EpochMs;

  constructor(deps: Deps, claimed: Claimed, pace: Pace) {
    this.#deps = deps;
    this.#claimed = claimed;
    this.#pace = pace;
    this.#cursor = claimed.config.cursor;
    this.#failures = claimed.config.failures;
    this.#refusals = claimed.config.refusals;
    this.#claimUntilMs = claimed.startedAtMs + claimMs;
  }

  async run(): Promise<void> {
    const { store, claim, config, startedAtMs } = this.#claimed;
    if (this.#isToPassOn(startedAtMs)) {
      await this.#putOff(startedAtMs);
      return;
    }
    for (let round = 0; round < roundsMax; round++) {
      const news = owedBy(this.#deps, config, this.#cursor);
      let next = await news.next();
      for (; next.done !== true; next = await news.next()) if (!(await this.#push(next.value))) return;
      const cursor = Math.max(this.#cursor, next.value ?? 0);
      if (await store.rest(claim, { from: this.#cursor, cursor })) return;
    }
  }

  /** Returns false if this delivery is over. */
  async #push(news: OwedPush): Promise<boolean> {
    const { startedAtMs } = this.#claimed;
    const nowMs = this.#deps.clock.nowMs();
    if (nowMs - news.atMs >= pushAgeMaxMs) return this.#advance(news.generation);
    if (nowMs - startedAtMs >= deliveryMaxMs || this.#isToPassOn(nowMs)) return this.#putOff(nowMs);
    const push = await news.push();
    // A process that was frozen meanwhile may have lost its claim.
    if (this.#deps.clock.nowMs() + pushTimeoutMs > this.#claimUntilMs) return false;
    return this.#actOn(await this.#send(push), news.generation);
  }

  async #send(push: Push): Promise<PushAnswer> {
    const { clock } = this.#deps;
    const { slow, receiver } = this.#pace;
    const sentAtMs = clock.nowMs();
    const answer = await this.#claimed.pushSender.send(push);
    slow?.note(receiver, { tookMs: clock.nowMs() - sentAtMs, nowMs: clock.nowMs() });
    return answer;
  }

  #isToPassOn(nowMs: EpochMs): boolean {
    return !this.#pace.isPassedOn && this.#isSlow(nowMs);
  }

  #isSlow(nowMs: EpochMs): boolean {
    const { slow, receiver } = this.#pace;
    return slow?.isSlow(receiver, nowMs) === true;
  }

  async #actOn(answer: PushAnswer, generation: number): Promise<boolean> {
    const { store, claim } = this.#claimed;
    const fate = fateOf(answer, { failures: this.#failures, refusals: this.#refusals });
    const nowMs = this.#deps.clock.nowMs();
    switch (fate.kind) {
      case 'taken':
      case 'given_up':
        return this.#advance(generation);
      case 'closed':
        await store.close(claim, nowMs);
        this.#deps.log.warn('pushes of a config end: its receiver has refused them', { runId: claim.taskId });
        return false;
      case 'again':
        this.#failures++;
        if (fate.isRefusal) this.#refusals++;
        return this.#putOff(nowMs + fate.afterMs);
    }
  }

  async #advance(cursor: number): Promise<boolean> {
    const { store, claim } = this.#claimed;
    this.#claimUntilMs = this.#deps.clock.nowMs() + claimMs;
    const moved = { from: this.#cursor, cursor, claimUntilMs: this.#claimUntilMs };
    if (!(await store.advance(claim, moved))) return false;
    this.#cursor = cursor;
    this.#failures = 0;
    this.#refusals = 0;
    return true;
  }

  async #putOff(dueAtMs: EpochMs): Promise<false> {
    const { store, claim } = this.#claimed;
    await store.putOff(claim, { failures: this.#failures, refusals: this.#refusals, dueAtMs });
    const { taskId: runId, configId } = claim;
    const slowReceiver = this.#isSlow(this.#deps.clock.nowMs()) ? this.#pace.receiver : undefined;
    await pushAt(this.#deps, { kind: 'push', runId, configId, ...defined({ slowReceiver }) }, dueAtMs);
    return false;
  }
}
