import { storedError, type StoredError } from '../../base/errors.js';
import { serverTraitsTimeoutMs } from '../../base/limits.js';
import type { RemoteTaskTransport, ServerTraits } from '../../remote/transport.js';
import type { StartRemoteTask } from '../../replay/command.js';
import type { Deps } from '../deps.js';

/** The server of a call, and what may be done towards it when the fate of a start is unknown. */
export interface RemoteTarget {
  readonly transport: RemoteTaskTransport;
  /** Start again with the same key. */
  readonly mayRepeat: boolean;
  /** Ask whether it has a task of that start. */
  readonly mayLook: boolean;
  /** Either of them leads to the task of that start, if there is one, and to no second one. */
  readonly isFoundAgain: boolean;
  /** What would help where neither does. */
  readonly helps?: string | undefined;
}

export type FoundTarget =
  | { readonly kind: 'target'; readonly target: RemoteTarget }
  | { readonly kind: 'refused'; readonly error: StoredError };

/** Refused: the app has no such server, or the call cannot be made to it. */
export async function remoteTarget(deps: Deps, command: StartRemoteTask): Promise<FoundTarget> {
  const { server, request } = command;
  if (!Object.hasOwn(deps.app.servers, server)) {
    const known = Object.keys(deps.app.servers).join(', ') || 'none';
    return {
      kind: 'refused',
      error: storedError('SERVER_NOT_FOUND', `no server is named "${server}"; there is ${known}`),
    };
  }
  const transport = deps.transports.get(server);
  const problem = await problemWith(transport, request);
  if (problem !== undefined) {
    const error = storedError('CONFIG_INVALID', `the call to "${server}" cannot be made: ${problem}`);
    return { kind: 'refused', error };
  }
  if (command.retrySafe) {
    // To take over a task again is to read it again.
    const isFoundAgain = transport.dedupes || request.kind === 'attach';
    return { kind: 'target', target: { transport, mayRepeat: true, mayLook: false, isFoundAgain } };
  }
  const { dedupes, finds, helps } = await traitsOf(deps, transport);
  const mayLook = finds !== false && transport.find !== undefined;
  const isFoundAgain = dedupes || (mayLook && finds === true);
  return { kind: 'target', target: { transport, mayRepeat: dedupes, mayLook, isFoundAgain, helps } };
}

/**
 * What the configuration says of a server, else what the server says of itself. One that says nothing, not in time or
 * not intelligibly, is taken for what the configuration says.
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
    deps.log.warn('server does not say what it can', { error });
    return configured;
  } finally {
    answered.abort();
  }
}

/**
 * Whether the answer to a start may take longer than a turn can wait: then a worker makes the call. To take over a task is to
 * read it, which none takes minutes for.
 */
export async function mayTakeMinutes(deps: Deps, { server, request }: StartRemoteTask): Promise<boolean> {
  if (request.kind === 'attach' || !Object.hasOwn(deps.app.servers, server)) return false;
  const transport = deps.transports.get(server);
  if (transport.answersAtOnce === undefined) return false;
  const answered = new AbortController();
  try {
    // Who does not say so in time takes time.
    const tooLong = deps.delay(serverTraitsTimeoutMs, answered.signal).then(() => false);
    return (await Promise.race([transport.answersAtOnce(request), tooLong])) !== true;
  } catch (error) {
    deps.log.warn('server does not say whether it answers at once', { server, error });
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
  return transport.adopt === undefined ? 'it takes over no tasks that others have started' : undefined;
}
