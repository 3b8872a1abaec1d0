import type { Deps } from '../deps.js';
import { unauthorized, type Verified } from './verify-delivery.js';

/** Difference between the clocks of two processes that verify one proof. */
const skewMs = 60_000;

/**
 * Takes the proof of a verified request, so that it is not accepted again for anything else. `use`: what the proof is
 * taken for; a repetition for the same use is let through, so that a sender may repeat a request that failed. Without it
 * the proof is taken once. Proofs that do not end by themselves (a bearer token, a signature without a time) are not
 * taken. Write down nothing before: a process that dies in between leaves a proof that is taken, and nothing else.
 * @throws EngineError `UNAUTHORIZED`, the same as for an unknown sender, if it was taken before
 */
export async function takeProof(deps: Deps, { proof }: Pick<Verified, 'proof'>, use?: string): Promise<void> {
  if (proof === undefined) return;
  const taken = await deps.store.proofs.take(proof.id, {
    use: use ?? deps.random.hex(16),
    atMs: deps.clock.nowMs(),
    // A process whose clock is behind accepts the proof for longer.
    untilMs: proof.untilMs + skewMs,
  });
  if (!taken) throw unauthorized(deps);
}
