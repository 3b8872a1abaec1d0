import { pollHintMaxMs } from '../../base/limits.js';
import type { EpochMs } from '../../base/time.js';
import type { HttpHead } from './http.js';

/** Returns the wait that a reply asks for, if any, as fields of an answer. */
export function waitIn({ headers }: HttpHead, nowMs: EpochMs): { readonly retryAfterMs?: number } {
  const afterMs = retryAfterMs(headers['retry-after'], nowMs);
  return afterMs === undefined ? {} : { retryAfterMs: afterMs };
}

/**
 * Returns how long a `Retry-After` header (RFC 9110 section 10.2.3) asks to wait, from seconds or an HTTP date: never
 * negative, at most an hour. Returns undefined if the header is missing or is neither.
 */
export function retryAfterMs(header: string | undefined, nowMs: EpochMs): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Math.min(Number(text) * 1_000, pollHintMaxMs);
  // Requires the day of the week, with which every form of an HTTP date starts; Date.parse alone would also take "2".
  const atMs = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), pollHintMaxMs);
}
