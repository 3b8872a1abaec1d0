import { defined } from '../../base/defined.js';
import { EngineError } from '../../base/errors.js';
import { utf8Bytes } from '../../base/json.js';
import { idempotencyKeyMaxBytes } from '../../base/limits.js';
import { nameProblem } from '../../base/name.js';
import { knownTraceparent } from '../../base/trace-context.js';
import type { AgentExtension } from '../../workflow/serve.js';
import type { A2aVersion, Call } from './call.js';
import { A2aError } from './errors.js';

/**
 * Returns the revision of a request. Without a version it is 0.3, whose clients send none. Only major and minor count,
 * so 1.0.1 is 1.0.
 * @throws A2aError `VERSION_NOT_SUPPORTED`
 */
export function versionOf({ headers, url }: Pick<Request, 'headers' | 'url'>): A2aVersion {
  const given = (headers.get('a2a-version') ?? new URL(url).searchParams.get('A2A-Version') ?? '').trim();
  const minor = given === '' ? '0.3' : /^(\d{1,3}\.\d{1,3})(\.\d{1,5})?$/.exec(given)?.[1];
  if (minor === '1.0' || minor === '0.3') return minor;
  throw new A2aError('VERSION_NOT_SUPPORTED', 'this version of A2A is not supported; supported are 1.0 and 0.3');
}

/** Largest header of extensions that is read. */
const extensionsMaxBytes = 8 * 1024;

/** Returns the extensions of the agent that the request activates; URIs that the agent does not have are ignored. */
export function activatedBy({ headers }: Pick<Request, 'headers'>, uris: readonly string[]): ReadonlySet<string> {
  // Clients of 0.3 put an X before the name.
  const given = [headers.get('a2a-extensions'), headers.get('x-a2a-extensions')].filter((text) => text !== null);
  const text = given.join(',');
  if (utf8Bytes(text) > extensionsMaxBytes)
    throw new A2aError('INVALID_REQUEST', `the header A2A-Extensions must be at most ${extensionsMaxBytes} bytes`);
  const asked = new Set(text.split(',').map((uri) => uri.trim()));
  return new Set(uris.filter((uri) => asked.has(uri)));
}

/** @throws A2aError `EXTENSION_SUPPORT_REQUIRED` if the agent requires an extension that the request does not activate */
export function requireExtensions(activated: ReadonlySet<string>, extensions: readonly AgentExtension[]): void {
  const missing = extensions.find(({ uri, required }) => required === true && !activated.has(uri));
  if (missing === undefined) return;
  throw new A2aError('EXTENSION_SUPPORT_REQUIRED', `the agent requires the extension ${missing.uri}`);
}

/** Returns what the headers of a request say. @throws EngineError `INPUT_INVALID` */
export function callOf(
  { headers }: Pick<Request, 'headers'>,
  { version, extensions, skill }: Pick<Call, 'version' | 'extensions'> & { readonly skill?: string | undefined },
): Call {
  const idempotencyKey = headers.get('idempotency-key') ?? undefined;
  const problem =
    idempotencyKey === undefined ? undefined : nameProblem(idempotencyKey, { maxBytes: idempotencyKeyMaxBytes });
  if (problem !== undefined) throw new EngineError('INPUT_INVALID', `the header Idempotency-Key ${problem}`);
  return {
    version,
    extensions,
    ...defined({
      skill,
      idempotencyKey,
      lastEventId: headers.get('last-event-id') ?? undefined,
      traceparent: knownTraceparent(headers.get('traceparent') ?? undefined),
    }),
  };
}
