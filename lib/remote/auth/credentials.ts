import type { StoredError } from '../../base/errors.js';
import type { HttpHead, HttpRequest } from '../http/http.js';

/** What is put on one request so that the server knows who asks. */
export type Presented =
  /** Header names in lower case. `secrets`: what no text of the answer may show. */
  | { readonly kind: 'ready'; readonly headers: Readonly<Record<string, string>>; readonly secrets: readonly string[] }
  /** `CONFIG_INVALID` when it would be the same next time, else `REMOTE_UNREACHABLE`. */
  | { readonly kind: 'failed'; readonly error: StoredError };

export type Renewed =
  /** Other credentials are there: the request, which was refused and not executed, may be sent once more. */
  | { readonly kind: 'renewed' }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly error: StoredError };

export interface Credentials {
  /** Credentials for a request that is otherwise complete. Never throws. */
  present(request: HttpRequest): Promise<Presented>;
  /** After a 401 or 403 to a request with what was `presented`. Never throws. */
  renew(refusal: HttpHead, presented: Extract<Presented, { kind: 'ready' }>): Promise<Renewed>;
}
