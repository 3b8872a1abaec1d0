import type { KnownStart, ThrottleState } from '../../history/start-records.js';
import { fields, json, number, optional, text } from './fields.js';

export const throttleFields = fields<ThrottleState>({ startsAtMs: json<readonly number[]>(), generation: number });

export const knownStartFields = fields<KnownStart>({ runId: text, sentDigest: optional(text) });
