import { sideRequestTimeoutMs } from '../../base/limits.js';
import type { Clock, EpochMs } from '../../base/time.js';
import type { McpRevision } from '../../workflow/app.js';
import type { RemoteEndpoint } from '../endpoint.js';
import { remoteError } from '../remote-error.js';
import { SingleFlight } from '../single-flight.js';
import type { Unready } from './dialect.js';
import { readDiscovery, type Discovery } from './discovery.js';
import type { LegacySessions } from './legacy-sessions.js';
import { mcpWire, serverDiscover } from './wire-2026-07-28.js';

/** What a server speaks, and what it says of itself. */
export interface Found {
  readonly kind: 'found';
  readonly revision: McpRevision;
  readonly dedupes: boolean;
  /** The server runs tools as tasks; undefined when it does not say. */
  readonly tasks: boolean | undefined;
  readonly freshUntilMs: EpochMs;
}

/** The revision of one server. Asked before the first start of a process; a server that denies it later is asked again. */
export class RevisionFinder {
  readonly #endpoint: RemoteEndpoint;
  readonly #sessions: LegacySessions;
  readonly #clock: Clock;
  readonly #pinned: Found | undefined;
  readonly #asking = new SingleFlight<Found | Unready>();
  #found: Found | undefined;

  constructor(endpoint: RemoteEndpoint, sessions: LegacySessions, clock: Clock, pinned: McpRevision | undefined) {
    this.#endpoint = endpoint;
    this.#sessions = sessions;
    this.#clock = clock;
    this.#pinned = pinned === undefined ? undefined : { ...silent, revision: pinned };
  }

  get isPinned(): boolean {
    return this.#pinned !== undefined;
  }

  async find(untilMs?: EpochMs): Promise<Found | Unready> {
    return this.#pinned ?? this.#found ?? this.#ask(untilMs);
  }

  /** The same, and what the server says of itself is no older than it wishes. */
  async findFresh(): Promise<Found | Unready> {
    const found = await this.find();
    if (found.kind === 'unready' || this.#clock.nowMs() < found.freshUntilMs) return found;
    const fresh = await this.#ask();
    return fresh.kind === 'found' ? fresh : found;
  }

  forget(): void {
    this.#found = undefined;
  }

  async #ask(untilMs?: EpochMs): Promise<Found | Unready> {
    return this.#asking.run(async () => {
      const discovery = await this.#discover(untilMs);
      const found = await this.#decide(discovery, untilMs);
      if (found.kind === 'found') this.#found = found;
      return found;
    });
  }

  async #discover(untilMs: EpochMs | undefined): Promise<Discovery> {
    return this.#endpoint.converse<Discovery>(
      'server/discover',
      async (send) => {
        const options = { timeoutMs: sideRequestTimeoutMs };
        const first = readDiscovery((await send(serverDiscover(), options)).exchange);
        return first.kind === 'again' ? readDiscovery((await send(serverDiscover(), options)).exchange) : first;
      },
      untilMs,
    );
  }

  async #decide(discovery: Discovery, untilMs: EpochMs | undefined): Promise<Found | Unready> {
    switch (discovery.kind) {
      case 'modern': {
        const { dedupes, tasks, ageMs } = discovery;
        const freshUntilMs = this.#clock.nowMs() + ageMs;
        return { kind: 'found', revision: mcpWire, dedupes, tasks, freshUntilMs };
      }
      case 'legacy':
        return { ...silent, revision: '2025-11-25' };
      case 'method_unknown': {
        const session = await this.#sessions.current(untilMs);
        if (session.kind === 'session') return { ...silent, revision: '2025-11-25' };
        return session.otherRevision ? { ...silent, revision: mcpWire } : session;
      }
      case 'again': {
        const problem = `the server refuses MCP ${mcpWire}, and says that it speaks it`;
        return { kind: 'unready', permanent: true, error: remoteError('REMOTE_START_REFUSED', problem) };
      }
      case 'unready':
        return discovery;
    }
  }
}

/** A server that says nothing of itself. */
const silent = { kind: 'found', dedupes: false, tasks: undefined, freshUntilMs: Infinity } as const;
