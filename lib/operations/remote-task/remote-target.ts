import { storedError, type StoredError } from '../../base/errors.js';
import { serverTraitsTimeoutMs } from '../../base/limits.js';
import type { RemoteTaskTransport, ServerTraits } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Deps } from '../deps.js';

/** The server of a call, and what is possible there if the fate of a start is unknown. */
export interface RemoteTarget {
  readonly transport: RemoteTaskTransport;
  /** The start may be repeated with the same key. */
  readonly mayRepeat: boolean;
  /** The server can be asked whether it has a task of the start. */
  readonly mayLook: boolean;
  /** Either way leads to the task of the start, if there is one, and never to a second one. */
  readonly isFoundAgain: boolean;
  /** Setting that would help if neither is possible. */
  readonly helps?: string | undefined;
}

export type FoundTarget =
  | { readonly kind: 'target'; readonly target: RemoteTarget }
  | { readonly kind: 'refused'; readonly error: StoredError };

/** Finds the server of a call. `refused`: the app has no such server, or it cannot take the call. */
export async function remoteTarget(deps: Deps, command: StartRemoteTask): Promise<FoundTarget> {
  const { server, request } = command;
  if (!Object.hasOwn(deps.app.servers, server)) {
    const known = Object.keys(deps.app.servers).join(', ') || 'none';
    return {
      kind: 'refused',
      error: storedError('SERVER_NOT_FOUND', `no server is named "${server}"; known servers: ${known}`),
    };
  }
  const transport = deps.transports.get(server);
  const problem = await problemWith(transport, request);
  if (problem !== undefined) {
    const error = storedError('CONFIG_INVALID', `the call to "${server}" cannot be made: ${problem}`);
    return { kind: 'refused', error };
  }
  if (command.retrySafe) {
    // Attaching to a task again only reads it again.
    const isFoundAgain = transport.dedupes || request.kind === 'attach';
    return { kind: 'target', target: { transport, mayRepeat: true, mayLook: false, isFoundAgain } };
  }
  const { dedupes, finds, helps } = await traitsOf(deps, transport);
  const mayLook = finds !== false && transport.find !== undefined;
  const isFoundAgain = dedupes || (mayLook && finds === true);
  return { kind: 'target', target: { transport, mayRepeat: dedupes, mayLook, isFoundAgain, helps } };
}

/**
 * Returns the traits of a server: as configured, otherwise as the server states them. If the server does not answer in
 * time, or not intelligibly, the configuration applies.
 */
export async function traitsOf(
  deps: Pick<Deps, 'delay' | 'log'>,
  transport: RemoteTaskTransport,
): Promise<ServerTraits> {
  const configured: ServerTraits = { dedupes: transport.dedupes, finds: false };
  if (transport.dedupes || transport.traits === undefined) return configured;
  const answered = new AbortController();
  try {
    return await Promise.race([
      transport.traits(),
      deps.delay(serverTraitsTimeoutMs, answered.signal).then(() => configured),
    ]);
  } catch (error) {
    deps.log.warn('the server did not state its traits', { error });
    return configured;
  } finally {
    answered.abort();
  }
}

/**
 * Returns true if the answer to a start may take longer than a turn can wait: then a worker makes the call. Attaching
 * to a task is only a read, which is quick.
 */
export async function mayTakeMinutes(deps: Deps, { server, request }: StartRemoteTask): Promise<boolean> {
  if (request.kind === 'attach' || !Object.hasOwn(deps.app.servers, server)) return false;
  const transport = deps.transports.get(server);
  if (transport.answersAtOnce === undefined) return false;
  const answered = new AbortController();
  try {
    // A server that does not answer this in time counts as slow.
    const tooLong = deps.delay(serverTraitsTimeoutMs, answered.signal).then(() => false);
    return (await Promise.race([transport.answersAtOnce(request), tooLong])) !== true;
  } catch (error) {
    deps.log.warn('the server did not state whether it answers at once', { server, error });
    return true;
  } finally {
    answered.abort();
  }
}

async function problemWith(
  transport: RemoteTaskTransport,
  request: StartRemoteTask['request'],
): Promise<string | undefined> {
  if (request.kind !== 'attach') return transport.problemWith(request);
  return transport.adopt === undefined ? 'it does not support attaching to a task' : undefined;
}
