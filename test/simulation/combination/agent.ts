import { a2aAgent, type A2aAgentConfig } from '../../../lib/workflow/app.js';
import { bearerWebhook, standardWebhook, stripeWebhook, type HookAuth } from '../../../lib/workflow/hook-auth.js';
import { hookSecret } from './deliveries.js';
import type { Dice } from './dice.js';
import type { Case, Entry } from './timetable.js';

/** How a sender proves itself. */
export type Proof = 'bearer' | 'standardWebhooks' | 'stripe';

/** The remote server as an agent: whether it pushes, what its relays must prove, and how often it may be called. */
export interface Agent {
  /** The proof of its pushes; `secret`: that which each call registers. Missing: it does not push. */
  readonly pushes?: Proof | 'secret';
  /** Missing: their token is enough. */
  readonly relays?: Proof;
  readonly perMinute?: number;
  readonly concurrency?: number;
}

/** Makes the remote server of some cases an agent; relays then settle its tasks more often. */
export function drawAgent(given: Case, dice: Dice): Case {
  if (!JSON.stringify([given.flows, given.limits]).includes('"kind":"remote"') || !dice.chance(0.5)) return given;
  const proofs: readonly Proof[] = ['bearer', 'standardWebhooks', 'stripe'];
  const isPushing = dice.chance(0.75);
  const hasRelays = dice.chance(0.5);
  const isLimited = dice.chance(0.4);
  const concurrency = dice.pick([1, 2, 4]);
  const agent: Agent = {
    ...(isPushing ? { pushes: dice.pick(['secret', 'secret', ...proofs] as const) } : {}),
    ...(hasRelays ? { relays: dice.pick(proofs) } : {}),
    ...(isLimited ? { perMinute: dice.pick([3, 6, 12, 30]) } : {}),
    ...(isLimited && dice.chance(0.4) ? { concurrency } : {}),
  };
  const relays = Array.from({ length: hasRelays ? dice.int(1, 4) : 0 }, (): Entry => {
    const after = dice.chance(0.5) ? ({ kind: 'handle', nth: dice.pick([1, 1, 2, 3]) } as const) : undefined;
    const at = dice.int(0, after === undefined ? 60_000 : 8_000) / 1_000;
    return { at, ...(after === undefined ? {} : { after }), what: 'relay', pick: dice.int(0, 3), by: dice.int(0, 9) };
  });
  return { ...given, agent, entries: [...given.entries, ...relays].sort((a, b) => a.at - b.at) };
}

/** Returns the configuration of the remote server. */
export function configOf({ pushes, relays, perMinute, concurrency }: Agent): A2aAgentConfig {
  const limits = {
    ...(perMinute === undefined ? {} : { perMinute }),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
  return a2aAgent({
    url: 'https://remote.example.com/a2a',
    push: pushes === undefined ? 'never' : 'auto',
    ...(pushes === undefined || pushes === 'secret' ? {} : { pushAuth: authOf(pushes) }),
    ...(relays === undefined ? {} : { relayAuth: authOf(relays) }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  });
}

function authOf(proof: Proof): HookAuth {
  const options = { secret: hookSecret };
  if (proof === 'bearer') return bearerWebhook(options);
  return proof === 'stripe' ? stripeWebhook(options) : standardWebhook(options);
}

/** Yields the agent without one of its traits, for each that is there. */
export function* smallerAgent(agent: Agent): Generator<Agent | undefined> {
  yield undefined;
  for (const left of Object.keys(agent))
    yield Object.fromEntries(Object.entries(agent).filter(([name]) => name !== left));
}

export function printAgent({ pushes, relays, perMinute, concurrency }: Agent): string {
  return [
    ...(pushes === undefined ? [] : [`pushes, proved by ${pushes}`]),
    ...(relays === undefined ? [] : [`relays prove themselves by ${relays}`]),
    ...(perMinute === undefined ? [] : [`at most ${perMinute} calls a minute`]),
    ...(concurrency === undefined ? [] : [`at most ${concurrency} at once`]),
  ].join('; ');
}
