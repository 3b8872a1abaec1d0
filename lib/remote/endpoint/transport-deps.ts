import type { Random } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Clock } from '../../base/time.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { CredentialDeps } from '../auth/create-credentials.js';
import type { HttpClient } from '../http/http.js';

/** Notes on servers, one text each; both methods may throw if the store is unavailable, which callers tolerate. */
export interface ServerWords {
  /** Returns the latest note that the store has kept. */
  readWord(server: string): Promise<unknown>;
  noteWord(server: string, word: string): Promise<void>;
}

/** External dependencies of the clients of remote servers. */
export interface TransportDeps extends CredentialDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Sleeps, for timeouts. Default: nothing is given up for taking long. */
  readonly delay?: (delayMs: number, signal?: AbortSignal) => Promise<void>;
  /** Notes that workers share on how servers are spoken to. Default: each worker finds out by itself. */
  readonly serverWords?: ServerWords;
  readonly log: Log;
}

/** Parts of a server's configuration that are needed to call it. */
export type EndpointConfig = Pick<ServerConfig, 'auth' | 'allowPrivateAddresses'> & { readonly url: string };
