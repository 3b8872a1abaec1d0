import type { Deps } from '../../../lib/operations/deps.js';
import { receiveDelivery, type Received } from '../../../lib/operations/requests/receive-delivery.js';
import { signedDelivery } from '../../../lib/testing/signed-delivery.js';
import { githubWebhook, standardWebhook } from '../../../lib/workflow/hook-auth.js';
import type { AnyWorkflow } from '../../../lib/workflow/define-workflow.js';
import type { HookConfig, HookEvent } from '../../../lib/workflow/hook.js';
import type { InboxRecord } from '../../../lib/history/records.js';
import type { World } from '../world.js';
import { short, type Book, type Chain } from './book.js';
import type { Input } from './interpret.js';
import type { DeliveryRequest } from './limits.js';
import type { StartOracles } from './start-oracles.js';

/** What senders and the app share. */
export const hookSecret = `whsec_${Buffer.from('a canary of the simulator').toString('base64')}`;

/** Returns the hooks of a case: one starts runs of a workflow, the other sends them signals. */
export function hooksOf(workflow: AnyWorkflow): Readonly<Record<string, HookConfig>> {
  const options = { secret: hookSecret };
  return {
    starts: { auth: githubWebhook(options), workflow, start: ({ body }) => ({ input: body }) },
    signals: { auth: standardWebhook(options), workflow, signal: signalOf },
  };
}

function signalOf({ body }: HookEvent) {
  const { id, to } = body as { readonly id: string; readonly to: string };
  return { name: 'x', payload: payloadOf(id), key: to };
}

const payloadOf = (id: string): string => `x:delivery ${id}`;

/** Sends a delivery once; repetitions are signed anew. */
export function send(deps: Deps, { id, lane, to }: DeliveryRequest, atMs: number): Promise<Received> {
  const input: Input = { round: 0, n: id, ...(lane === undefined ? {} : { lane }) };
  const content = JSON.stringify(to === undefined ? input : { id, to });
  const { headers, body } = signedDelivery(to === undefined ? 'github' : 'standardWebhooks', {
    secret: hookSecret,
    body: content,
    atMs,
    deliveryId: id,
  });
  const hook = to === undefined ? 'starts' : 'signals';
  return receiveDelivery(deps, { hook, headers, mediaType: 'json', body: Buffer.from(body) });
}

/** Checks that each delivery acts once at most, and once if it was accepted. */
export class DeliveryOracles {
  readonly #world: World;
  readonly #starts: StartOracles;
  readonly #lastOf: (runId: string) => Book | undefined;
  /** The signal that a payload came with. */
  readonly #signals = new Map<string, { readonly chain: Chain; readonly inboxId: string }>();

  constructor(world: World, starts: StartOracles, lastOf: (runId: string) => Book | undefined) {
    this.#world = world;
    this.#starts = starts;
    this.#lastOf = lastOf;
  }

  onInbox({ chain, runId }: Book, request: InboxRecord): void {
    if (request.kind !== 'signal' || typeof request.payload !== 'string') return;
    const { payload, inboxId } = request;
    if (!payload.startsWith(payloadOf(''))) return;
    const known = this.#signals.get(payload);
    if (known !== undefined && (known.chain !== chain || known.inboxId !== inboxId))
      this.#world.fail('delivery-acted-twice', `${payload}, now in run ${short(runId)}`);
    this.#signals.set(payload, { chain, inboxId });
  }

  onReceived({ id, to }: DeliveryRequest, received: Received): void {
    const { outcome } = received;
    const hasActed = to === undefined ? this.#starts.hasActed(id) : this.#signals.has(payloadOf(id));
    if (outcome === 'run_ended') {
      const last = this.#lastOf(received.runId);
      if (last?.ending === undefined) this.#world.fail('delivery-lost', `${id}: run ${short(received.runId)} goes on`);
    } else if (!hasActed) this.#world.fail('delivery-lost', `${id} was answered with ${outcome}`);
  }
}
