import type { EpochMs } from '../../base/time.js';
import { fields, number, text } from './fields.js';

/** A proof that was taken. `expiresAtS`: from then on DynamoDB may remove the item. */
export interface TakenProof {
  readonly use: string;
  readonly untilMs: EpochMs;
  readonly expiresAtS: number;
}

export const proofFields = fields<TakenProof>({ use: text, untilMs: number, expiresAtS: number });
