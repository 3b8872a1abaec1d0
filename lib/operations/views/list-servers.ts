import { defined } from '../../base/defined.js';
import type { ServerHealth } from '../../history/server-health.js';
import type { EpochMs } from '../../base/time.js';
import { effectiveLimits } from '../../workflow/server-limits.js';
import type { Deps } from '../deps.js';
import type { RemoteProtocol } from '../../history/remote-protocol.js';

/** A configured remote server for display: without address and credentials. */
export interface ServerView {
  readonly name: string;
  readonly protocol: RemoteProtocol;
  /**
   * `failing`: requests have failed, but too few to stop calling it. `left_alone`: nothing is sent. `probing`: one
   * request may try it, or is doing so.
   */
  readonly state: 'ok' | 'failing' | 'left_alone' | 'probing';
  /** Consecutive failures. */
  readonly failures: number;
  readonly lastFailureAtMs?: EpochMs;
  readonly leftAloneUntilMs?: EpochMs;
  readonly limits: { readonly concurrency?: number; readonly perMinute?: number };
}

export interface ServerList {
  readonly servers: readonly ServerView[];
}

/** Lists all servers of the app by name, as the workers see them now. */
export async function listServers(deps: Deps): Promise<ServerList> {
  const names = Object.keys(deps.app.servers).sort();
  const servers = await Promise.all(names.map((name) => viewServer(deps, name)));
  return { servers: servers.filter((server) => server !== undefined) };
}

async function viewServer(deps: Deps, name: string): Promise<ServerView | undefined> {
  const config = deps.app.servers[name];
  if (config === undefined) return undefined;
  const { concurrency, perMinute, breaker } = effectiveLimits(config.limits);
  const health = await deps.store.servers.read(name);
  const { state, untilMs } = stateOf(health, breaker !== undefined, deps.clock.nowMs());
  return {
    name,
    protocol: config.protocol,
    state,
    failures: health.failures,
    ...defined({ lastFailureAtMs: health.failedAtMs, leftAloneUntilMs: untilMs }),
    limits: {
      ...defined({ concurrency, perMinute }),
    },
  };
}

function stateOf(
  { failures, openUntilMs, holdUntilMs = 0 }: ServerHealth,
  hasBreaker: boolean,
  nowMs: EpochMs,
): { readonly state: ServerView['state']; readonly untilMs?: EpochMs } {
  const opened = hasBreaker ? openUntilMs : undefined;
  const untilMs = Math.max(holdUntilMs, opened ?? 0);
  if (untilMs > nowMs) return { state: 'left_alone', untilMs };
  if (opened !== undefined) return { state: 'probing' };
  return { state: failures > 0 ? 'failing' : 'ok' };
}
