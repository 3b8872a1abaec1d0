import type { StoredError } from '../../base/errors.js';
import type { HttpHead, HttpRequest } from '../http/http.js';

/** Headers that identify the caller to the server. */
export type Presented =
  /** Header names in lower case. `secrets`: values that no text shown from the answer may contain. */
  | { readonly kind: 'ready'; readonly headers: Readonly<Record<string, string>>; readonly secrets: readonly string[] }
  /** `CONFIG_INVALID` if the next attempt would fail the same way, else `REMOTE_UNREACHABLE`. */
  | { readonly kind: 'failed'; readonly error: StoredError };

export type Renewed =
  /** New credentials are available: the request, which was refused and not executed, may be sent once more. */
  | { readonly kind: 'renewed' }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly error: StoredError };

export interface Credentials {
  /** Returns credentials for a request that is otherwise complete. Never throws. */
  present(request: HttpRequest): Promise<Presented>;
  /** Tries to renew credentials after a 401 or 403 to a request with what was `presented`. Never throws. */
  renew(refusal: HttpHead, presented: Extract<Presented, { kind: 'ready' }>): Promise<Renewed>;
}
