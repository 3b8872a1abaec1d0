import { hasCode } from '../../../lib/base/errors.js';
import type { Deps } from '../../../lib/operations/deps.js';
import { proveRelay } from '../../../lib/operations/requests/prove-relay.js';
import { settleToken } from '../../../lib/operations/requests/settle-token.js';
import { toToken } from '../../../lib/store/items/token.js';
import { signedDelivery, type SignedDelivery } from '../../../lib/testing/signed-delivery.js';
import type { Proof } from './agent.js';
import { short } from './book.js';
import { hookSecret } from './deliveries.js';
import type { Known } from './known.js';

/** A wait that a relay settles. */
interface Wait {
  readonly runId: string;
  readonly waitId: string;
}

/** What a relay sends along, by the number that was drawn; `again`: what it has sent for another wait. */
const ways = [
  ...(['genuine', 'genuine', 'genuine', 'genuine', 'genuine'] as const),
  ...(['nothing', 'otherSecret', 'stale', 'otherBody', 'again'] as const),
];

/** Relays that prove themselves, or try to. Checks that none settles a wait without a proof of its own. */
export class Relays {
  readonly #known: Known;
  readonly #proof: Proof;
  #sentBefore = 0;
  /** The last proof that was taken. */
  #last: { readonly path: string; readonly sent: SignedDelivery; readonly atMs: number } | undefined;

  constructor(known: Known, proof: Proof) {
    this.#known = known;
    this.#proof = proof;
  }

  /** @throws EngineError as the route does, but for a refusal of the proof */
  async settle(deps: Deps, { runId, waitId }: Wait, by: number): Promise<void> {
    const { world, given } = this.#known;
    const token = deps.tokens.settleToken({ runId, waitId });
    const path = `/activities/external/${token}/complete`;
    const way = ways[by % ways.length]!;
    const { sent, isGenuine } = this.#sent(way, path);
    const label = `wait ${waitId} of run ${short(runId)}`;
    const request = { headers: sent.headers, body: Buffer.from(sent.body), atMs: deps.clock.nowMs() };
    let proof: string | undefined;
    try {
      proof = await proveRelay(deps, request, path).of(token);
    } catch (error) {
      if (!hasCode(error, 'UNAUTHORIZED')) throw error;
      if (isGenuine && given.skews.length === 0) world.fail('relay-shut-out', label);
      return;
    }
    if (isGenuine) this.#last = { path, sent, atMs: world.nowMs };
    else world.fail('forged-relay-let-in', `${way}: ${label}`);
    const outcome = { kind: 'completed', result: 'relayed', isError: false } as const;
    const { settled } = await settleToken(deps, { token, outcome, proof });
    if (!settled) return;
    if (world.settledTrue.includes(label)) world.fail('settled-twice', label);
    world.settledTrue.push(label);
    const item = this.#known.books.get(runId)?.items.get(`t#${waitId}`);
    if (item !== undefined && toToken(item).settlement?.proof !== this.#proof) world.fail('proof-not-on-record', label);
  }

  #sent(way: (typeof ways)[number], path: string): { readonly sent: SignedDelivery; isGenuine: boolean } {
    const { nowMs } = this.#known.world;
    const isTimed = this.#proof !== 'bearer';
    const last = this.#last;
    // A proof that does not end by itself may be sent again, and has no time.
    if (way === 'again' && isTimed && last !== undefined && last.path !== path && last.atMs > nowMs - 100_000)
      return { sent: last.sent, isGenuine: false };
    // No two proofs of one second are the same.
    const body = JSON.stringify({ output: 'relayed', number: ++this.#sentBefore });
    const isForged = way === 'otherSecret' || (way !== 'genuine' && way !== 'again' && !isTimed);
    const sent = signedDelivery(this.#proof, {
      secret: isForged ? `whsec_${Buffer.from('another').toString('base64')}` : hookSecret,
      body,
      atMs: way === 'stale' ? nowMs - 3_600_000 : nowMs,
      deliveryId: `${this.#sentBefore}`,
    });
    if (way === 'nothing') return { sent: { ...sent, headers: {} }, isGenuine: false };
    if (way === 'otherBody' && isTimed) return { sent: { ...sent, body: `${body} ` }, isGenuine: false };
    if (isForged || way === 'stale') return { sent, isGenuine: false };
    return { sent, isGenuine: true };
  }
}
