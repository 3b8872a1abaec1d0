import { requestTimeoutMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { McpServerConfig } from '../../workflow/app.js';
import { RemoteEndpoint } from '../endpoint/endpoint.js';
import type { TransportDeps } from '../endpoint/transport-deps.js';
import type { Unready } from '../mcp/dialect.js';
import { LegacySessions } from '../mcp/legacy-sessions.js';
import { RevisionFinder, type Found } from '../mcp/revision.js';
import type { ListCall } from '../mcp/tool-pages.js';
import { toolsList as legacyToolsList, type Session } from '../mcp/wire-2025-11-25.js';
import { mcpWire, toolsList } from '../mcp/wire-2026-07-28.js';

/** An MCP server that is ready to list its tools. */
export interface OpenTools {
  readonly kind: 'open';
  readonly endpoint: RemoteEndpoint;
  readonly found: Found;
  /** Session with a server of an older revision. */
  readonly session: Session | undefined;
  readonly listCall: ListCall;
  readonly untilMs: EpochMs;
}

/** Finds the MCP revision of a server, and opens a session if the revision has sessions. */
export async function openTools(
  name: string,
  config: McpServerConfig,
  deps: TransportDeps,
): Promise<OpenTools | Unready> {
  const endpoint = new RemoteEndpoint(name, config, deps);
  const sessions = new LegacySessions(endpoint);
  const untilMs = deps.clock.nowMs() + 2 * requestTimeoutMs;
  const found = await new RevisionFinder(endpoint, sessions, deps, config).find(untilMs);
  if (found.kind === 'unready') return found;
  const session = found.revision === mcpWire ? undefined : await sessions.current(untilMs);
  if (session?.kind === 'unready') return session;
  const listCall: ListCall = (cursor) => (session === undefined ? toolsList(cursor) : legacyToolsList(session, cursor));
  return { kind: 'open', endpoint, found, session, listCall, untilMs };
}
