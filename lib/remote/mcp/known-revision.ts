// Note that workers share on the revision that a server speaks, as stored text. Pure.

import { defined } from '../../base/defined.js';
import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { revisionAgeMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { mcpRevisions, type McpRevision } from '../../workflow/app.js';

/** Revision of a server, and what the server says about itself. */
export interface KnownRevision {
  readonly revision: McpRevision;
  readonly dedupes: boolean;
  /** Whether the server runs tools as tasks; undefined if it does not say. */
  readonly tasks: boolean | undefined;
  readonly askedAtMs: EpochMs;
  /** Time for which the server's statements about itself are believed; undefined if it makes none. */
  readonly freshForMs: number | undefined;
}

export function revisionText({ tasks, freshForMs, ...spoken }: KnownRevision, url: string): string {
  return JSON.stringify({
    url: digestOf(url),
    ...spoken,
    ...defined({ tasks, freshForMs }),
  });
}

/** Returns undefined if the note is about another URL, too old, in the future, or not understood. */
export function readRevisionText(text: unknown, url: string, nowMs: EpochMs): KnownRevision | undefined {
  const { url: digest, revision, dedupes, tasks, askedAtMs, freshForMs } = objectIn(text);
  const known = mcpRevisions.find((one) => one === revision);
  if (digest !== digestOf(url) || known === undefined || typeof askedAtMs !== 'number') return undefined;
  // Rejects a time far ahead: a wrong clock must not make a note last.
  if (nowMs - askedAtMs >= revisionAgeMs || askedAtMs - nowMs >= revisionAgeMs) return undefined;
  return {
    revision: known,
    dedupes: dedupes === true,
    tasks: typeof tasks === 'boolean' ? tasks : undefined,
    askedAtMs: Math.min(askedAtMs, nowMs),
    freshForMs: typeof freshForMs === 'number' ? freshForMs : undefined,
  };
}

/** Hashes the URL, which may hold a key. */
function digestOf(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 16);
}

function objectIn(text: unknown): JsonObject {
  if (typeof text !== 'string') return {};
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
