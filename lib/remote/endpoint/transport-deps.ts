import type { Random } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Clock } from '../../base/time.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { CredentialDeps } from '../auth/create-credentials.js';
import type { HttpClient } from '../http/http.js';

/** One text for each server; each may throw when the store is away, and then counts for nothing. */
export interface ServerWords {
  /** What was noted last, as far as the store has kept it. */
  readWord(server: string): Promise<unknown>;
  noteWord(server: string, word: string): Promise<void>;
}

/** What the clients of remote servers touch of the world. */
export interface TransportDeps extends CredentialDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: nothing is given up for taking long. */
  readonly delay?: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  /** What the workers tell each other of how servers are spoken to. Default: each finds out by itself. */
  readonly serverWords?: ServerWords;
  readonly log: Log;
}

/** Of a server's configuration, what it takes to call it. */
export type EndpointConfig = Pick<ServerConfig, 'auth' | 'allowPrivateAddresses'> & { readonly url: string };
