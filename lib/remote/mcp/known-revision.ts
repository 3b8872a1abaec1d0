// What the workers tell each other of the revision that a server speaks, as the text in which it is stored. Pure.

import { defined } from '../../base/defined.js';
import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { revisionAgeMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import { mcpRevisions, type McpRevision } from '../../workflow/app.js';

/** What a server speaks, and what it says of itself. */
export interface KnownRevision {
  readonly revision: McpRevision;
  readonly dedupes: boolean;
  /** The server runs tools as tasks; undefined when it does not say. */
  readonly tasks: boolean | undefined;
  readonly askedAtMs: EpochMs;
  /** How long what it says of itself is believed; undefined of a server that says nothing. */
  readonly freshForMs: number | undefined;
}

export function revisionText({ tasks, freshForMs, ...spoken }: KnownRevision, url: string): string {
  return JSON.stringify({
    url: digestOf(url),
    ...spoken,
    ...defined({ tasks, freshForMs }),
  });
}

/** Returns undefined for what is about another URL, too old, of the future, or not understood. */
export function readRevisionText(text: unknown, url: string, nowMs: EpochMs): KnownRevision | undefined {
  const { url: digest, revision, dedupes, tasks, askedAtMs, freshForMs } = objectIn(text);
  const known = mcpRevisions.find((one) => one === revision);
  if (digest !== digestOf(url) || known === undefined || typeof askedAtMs !== 'number') return undefined;
  // A clock that ran ahead must not make a word last.
  if (nowMs - askedAtMs >= revisionAgeMs || askedAtMs - nowMs >= revisionAgeMs) return undefined;
  return {
    revision: known,
    dedupes: dedupes === true,
    tasks: typeof tasks === 'boolean' ? tasks : undefined,
    askedAtMs: Math.min(askedAtMs, nowMs),
    freshForMs: typeof freshForMs === 'number' ? freshForMs : undefined,
  };
}

/** The URL may hold a key. */
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
