import { discoveryAgeMaxMs, revisionAgeMs, sideRequestTimeoutMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { McpRevision, McpServerConfig } from '../../workflow/app.js';
import type { RemoteEndpoint } from '../endpoint/endpoint.js';
import { remoteError } from '../rpc/remote-error.js';
import { SingleFlight } from '../../base/single-flight.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import type { Unready } from './dialect.js';
import { readDiscovery, type Discovery } from './discovery.js';
import type { LegacySessions } from './legacy-sessions.js';
import { readRevisionText, revisionText, type KnownRevision } from './known-revision.js';
import { legacyWire } from './wire-2025-11-25.js';
import { mcpWire, serverDiscover } from './wire-2026-07-28.js';

/** Revision of a server, and what the server says about itself. */
export interface Found extends KnownRevision {
  readonly kind: 'found';
}

type Deps = Pick<TransportDeps, 'clock' | 'log' | 'serverWords'>;

/**
 * Finds the revision of one server. What one worker finds out is stored for all of them, for a day; a server that
 * contradicts it is asked again.
 */
export class RevisionFinder {
  readonly #endpoint: RemoteEndpoint;
  readonly #sessions: LegacySessions;
  readonly #deps: Deps;
  readonly #url: string;
  readonly #pinned: Found | undefined;
  readonly #asking = new SingleFlight<Found | Unready>();
  #found: Found | undefined;
  /** Stored note, as far as this process knows. */
  #stored: KnownRevision | undefined;
  /** Whether the server has contradicted what was known. */
  #isDenied = false;

  constructor(
    endpoint: RemoteEndpoint,
    sessions: LegacySessions,
    deps: Deps,
    { url, protocolVersion }: Pick<McpServerConfig, 'url' | 'protocolVersion'>,
  ) {
    this.#endpoint = endpoint;
    this.#sessions = sessions;
    this.#deps = deps;
    this.#url = url;
    this.#pinned = protocolVersion === undefined ? undefined : silent(protocolVersion, 0);
  }

  get isPinned(): boolean {
    return this.#pinned !== undefined;
  }

  async find(untilMs?: EpochMs): Promise<Found | Unready> {
    const found = this.#pinned ?? this.#known();
    return found ?? this.#asking.run(async () => (await this.#remembered()) ?? this.#ask(untilMs));
  }

  /** Returns the same, with the server's statements about itself no older than it allows. */
  async findFresh(): Promise<Found | Unready> {
    const found = await this.find();
    if (found.kind === 'unready' || found.freshForMs === undefined) return found;
    if (this.#deps.clock.nowMs() < found.askedAtMs + found.freshForMs) return found;
    const fresh = await this.#asking.run(() => this.#ask());
    return fresh.kind === 'found' ? fresh : found;
  }

  /** Drops what was found, since the server has contradicted it. */
  forget(): void {
    this.#found = undefined;
    this.#isDenied = true;
  }

  #known(): Found | undefined {
    const found = this.#found;
    return found !== undefined && this.#deps.clock.nowMs() < found.askedAtMs + revisionAgeMs ? found : undefined;
  }

  async #remembered(): Promise<Found | undefined> {
    const { serverWords, clock } = this.#deps;
    if (serverWords === undefined || this.#isDenied) return undefined;
    const text = await this.#shared('read', () => serverWords.readWord(this.#endpoint.server));
    this.#stored = readRevisionText(text, this.#url, clock.nowMs());
    if (this.#stored === undefined) return undefined;
    this.#found = { kind: 'found', ...this.#stored };
    return this.#found;
  }

  async #ask(untilMs?: EpochMs): Promise<Found | Unready> {
    const found = await this.#decide(await this.#discover(untilMs), untilMs);
    if (found.kind !== 'found') return found;
    this.#found = found;
    this.#isDenied = false;
    await this.#remember(found);
    return found;
  }

  /** Stores the finding: one write for each change, otherwise at most one an hour. */
  async #remember({ kind: _, ...spoken }: Found): Promise<void> {
    const { serverWords } = this.#deps;
    const stored = this.#stored;
    if (serverWords === undefined) return;
    if (stored !== undefined && saysTheSame(stored, spoken) && spoken.askedAtMs < stored.askedAtMs + discoveryAgeMaxMs)
      return;
    await this.#shared('write', async () => {
      await serverWords.noteWord(this.#endpoint.server, revisionText(spoken, this.#url));
      this.#stored = spoken;
    });
  }

  async #decide(discovery: Discovery, untilMs: EpochMs | undefined): Promise<Found | Unready> {
    const nowMs = this.#deps.clock.nowMs();
    switch (discovery.kind) {
      case 'modern': {
        const { dedupes, tasks, ageMs } = discovery;
        return { kind: 'found', revision: mcpWire, dedupes, tasks, askedAtMs: nowMs, freshForMs: ageMs };
      }
      case 'legacy':
      case 'method_unknown': {
        const session = await this.#sessions.current(untilMs);
        if (session.kind === 'session') return silent(legacyWire, nowMs);
        return discovery.kind === 'method_unknown' && session.otherRevision ? silent(mcpWire, nowMs) : session;
      }
      case 'again': {
        const problem = `the server refuses MCP ${mcpWire}, although it says that it supports it`;
        return { kind: 'unready', permanent: true, error: remoteError('REMOTE_START_REFUSED', problem) };
      }
      case 'unready': {
        const session = discovery.isUnclear === true ? await this.#sessions.current(untilMs) : undefined;
        return session?.kind === 'session' ? silent(legacyWire, nowMs) : discovery;
      }
    }
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

  /** Runs `work` on the shared notes; a store that is unavailable must not block calls to a server that works. */
  async #shared<Value>(what: string, work: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.warn('revision of a remote server could not be shared', {
        server: this.#endpoint.server,
        what,
        error,
      });
      return undefined;
    }
  }
}

/** Returns the finding for a server that says nothing about itself. */
function silent(revision: McpRevision, askedAtMs: EpochMs): Found {
  return { kind: 'found', revision, dedupes: false, tasks: undefined, askedAtMs, freshForMs: undefined };
}

function saysTheSame(one: KnownRevision, other: KnownRevision): boolean {
  return one.revision === other.revision && one.dedupes === other.dedupes && one.tasks === other.tasks;
}
