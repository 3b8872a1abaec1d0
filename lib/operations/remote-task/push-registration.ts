import { defined } from '../../base/defined.js';
import type { RunId, WaitId } from '../../base/ids.js';
import type { PushRegistration } from '../../remote/transport.js';
import type { Deps } from '../deps.js';

/**
 * Returns what the server of a call needs to push news of its task; undefined if it is not to. The same for each owner
 * and attempt, and stored nowhere: it is derived from the token key.
 */
export function pushRegistrationOf(
  { app, publicUrl, tokens, digest }: Deps,
  server: string,
  { runId, waitId }: { readonly runId: RunId; readonly waitId: WaitId },
): PushRegistration | undefined {
  const config = Object.hasOwn(app.servers, server) ? app.servers[server] : undefined;
  if (publicUrl === undefined || config?.protocol !== 'a2a' || config.push === 'never') return undefined;
  const { token, secret } = tokens.pushToken({ runId, waitId, server });
  return {
    id: `outwait-${digest(`${runId}.${waitId}`).slice(0, 32)}`,
    url: pushUrl(publicUrl, token),
    // An agent that signs its pushes needs no secret of ours.
    ...defined({ secret: config.pushAuth === undefined ? secret : undefined }),
  };
}

/** Returns the URL that an agent pushes to. Tokens of agents that sign name it as their audience. */
export function pushUrl(publicUrl: string, pushToken: string): string {
  return `${publicUrl}/push/a2a/${pushToken}`;
}
