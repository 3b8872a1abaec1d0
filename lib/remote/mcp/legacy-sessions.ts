import { defined } from '../../base/defined.js';
import { sideRequestTimeoutMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { RemoteTaskHandle } from '../../history/event.js';
import type { RemoteEndpoint } from '../endpoint/endpoint.js';
import type { Exchange } from '../rpc/exchange.js';
import { remoteError } from '../rpc/remote-error.js';
import { SingleFlight } from '../../base/single-flight.js';
import { isErrorOf, saysNothing } from '../rpc/failed-exchange.js';
import { unready, type Unready } from './dialect.js';
import { versionIn } from './jobs.js';
import { initialize, initialized, readInitialize, type Session } from './wire-2025-11-25.js';
import {
  headerMismatchCode,
  methodUnknownCode,
  missingCapabilityCode,
  versionUnsupportedCode,
} from './wire-2026-07-28.js';

/** Number of lost sessions remembered for each server, so that they are not used again. */
const lostSessionsMax = 1_000;

export type NoSession = Unready & {
  /** Whether the server refuses the handshake; if false, the answer does not say. */
  readonly refused: boolean;
  /** Whether the answer is that of a server of a newer revision. */
  readonly otherRevision: boolean;
};

/** Sessions of this process with one server of revision 2025-11-25 or older. */
export class LegacySessions {
  readonly #endpoint: RemoteEndpoint;
  readonly #opening = new SingleFlight<Session | NoSession>();
  /** Lost sessions, whose tasks are read under the current session. */
  readonly #lost = new Set<string>();
  #current: Session | undefined;

  constructor(endpoint: RemoteEndpoint) {
    this.#endpoint = endpoint;
  }

  async current(untilMs: EpochMs | undefined): Promise<Session | NoSession> {
    return this.#current ?? this.#opening.run(() => this.#openCurrent(untilMs));
  }

  /** Opens a session that is used for nothing else. */
  async another(untilMs: EpochMs): Promise<Session | NoSession> {
    return this.#open(untilMs);
  }

  /** Returns the session of a task, which another process may have opened. */
  async of({ session: id, wire }: RemoteTaskHandle, untilMs: EpochMs): Promise<Session | NoSession> {
    if (id !== undefined && this.#lost.has(id)) return this.current(untilMs);
    return { kind: 'session', version: versionIn(wire), tasks: true, ...defined({ id }) };
  }

  /** Returns a session to replace one that the server no longer knows. */
  async renewed(session: Session, untilMs: EpochMs): Promise<Session | NoSession> {
    const { id } = session;
    if (id !== undefined && this.#lost.size < lostSessionsMax) this.#lost.add(id);
    this.forget(session);
    return this.current(untilMs);
  }

  /** Uses another session for new starts; tasks of this one are still read under it. */
  forget({ id }: Session): void {
    if (this.#current?.id === id) this.#current = undefined;
  }

  async #openCurrent(untilMs: EpochMs | undefined): Promise<Session | NoSession> {
    const session = await this.#open(untilMs);
    if (session.kind === 'session') this.#current = session;
    return session;
  }

  async #open(untilMs: EpochMs | undefined): Promise<Session | NoSession> {
    return this.#endpoint.converse<Session | NoSession>(
      'initialize',
      async (send) => {
        const { exchange, headers } = await send(initialize(), { timeoutMs: sideRequestTimeoutMs });
        if (exchange.kind !== 'result') return noSession(exchange);
        const session = readInitialize(exchange.result, headers['mcp-session-id']);
        if (typeof session === 'string') return forGood(session);
        // Ignores the outcome: the call that follows shows whether this arrived.
        await send(initialized(session), { timeoutMs: sideRequestTimeoutMs });
        return session;
      },
      untilMs,
    );
  }
}

const modernCodes: readonly number[] = [
  methodUnknownCode,
  headerMismatchCode,
  missingCapabilityCode,
  versionUnsupportedCode,
];

function noSession(exchange: Exclude<Exchange, { kind: 'result' }>): NoSession {
  if (exchange.kind === 'http_error' && [400, 404, 405, 406, 415].includes(exchange.status))
    return forGood(
      `there is no MCP server at this address, or one that speaks 2024-11-05, which is not supported: "initialize" was answered with status ${exchange.status}`,
    );
  const refused = exchange.kind === 'rpc_error' && !saysNothing(exchange.status);
  return { ...unready(exchange), refused, otherRevision: isErrorOf(exchange, modernCodes) };
}

function forGood(problem: string): NoSession {
  const error = remoteError('REMOTE_START_REFUSED', problem);
  return { kind: 'unready', permanent: true, refused: true, otherRevision: false, error };
}
