import { hostReach } from '../../base/host-reach.js';
import { discoveryAgeMaxMs } from '../../base/limits.js';
import type { Clock } from '../../base/time.js';
import type { A2aAgentConfig } from '../../workflow/app.js';
import type { Exchange } from '../rpc/exchange.js';
import type { PushRegistration } from '../transport.js';
import type { FoundInterface } from './agent-interfaces.js';
import { refusesPush } from './classify.js';
import type { TaskOrigin } from './interface.js';

/** Time limit of the request that deletes a registration: nothing depends on it. */
export const forgetPushTimeoutMs = 5_000;

interface Started {
  readonly exchange: Exchange;
  readonly origin: TaskOrigin;
}

/** Registers for pushes together with starts, where the agent's card says that it pushes. */
export class PushRegistrar {
  readonly #config: A2aAgentConfig;
  readonly #clock: Clock;
  #refusedUntilMs = 0;

  constructor(config: A2aAgentConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * Makes a start with the registration, if there is one and it makes sense. If the agent refuses only that, contrary to
   * its card, the start is made again without, and so are those of the next hour.
   */
  async start(
    given: PushRegistration | undefined,
    found: FoundInterface,
    start: (push?: PushRegistration) => Promise<Started>,
  ): Promise<Started> {
    const push = given !== undefined && this.#isWanted(given, found) ? given : undefined;
    if (push === undefined) return start();
    const { exchange, origin } = await start(push);
    if (!refusesPush(exchange)) return { exchange, origin: { ...origin, pushConfigId: push.id } };
    this.#refusedUntilMs = this.#clock.nowMs() + discoveryAgeMaxMs;
    return start();
  }

  #isWanted({ url }: PushRegistration, found: FoundInterface): boolean {
    if (found.kind === 'none' || !found.card.pushes || this.#clock.nowMs() < this.#refusedUntilMs) return false;
    return isReachable(url, found.to.url, this.#config.allowPrivateAddresses === true);
  }
}

/** Returns the texts of a registration that must not appear in errors and logs. */
export function secretsIn(push: PushRegistration | undefined): readonly string[] {
  if (push === undefined) return [];
  const token = push.url.slice(push.url.lastIndexOf('/') + 1);
  return push.secret === undefined ? [token] : [token, push.secret];
}

/**
 * Whether an agent may reach our address: an address of this machine or of a private network means another machine to an
 * agent elsewhere.
 */
function isReachable(url: string, agentUrl: string, isNear: boolean): boolean {
  const agent = hostReach(new URL(agentUrl).hostname);
  switch (hostReach(new URL(url).hostname)) {
    case 'public':
      return true;
    case 'private':
      return agent !== 'public' || isNear;
    case 'loopback':
      return agent === 'loopback';
  }
}
