// Rows of the indexes, which hold only the projected attributes.

import type { RunId, WaitId } from '../../base/ids.js';
import type { EpochMs } from '../../base/time.js';
import type { DueEntry } from '../../history/records.js';
import type { Item } from '../table.js';
import { fields, number, optional, text } from './fields.js';
import { headSk, pushConfigIdOf, pushConfigPrefix, runIdOf, tokenPrefix, waitIdOf } from './keys.js';

/** A wait in a list. */
export interface WaitRow {
  readonly runId: RunId;
  readonly waitId: WaitId;
}

export const toWaitRow = (item: Item): WaitRow => ({ runId: runIdOf(item), waitId: waitIdOf(item) });

const dueFields = fields<{ readonly dueAtMs: EpochMs; readonly server?: string }>({
  dueAtMs: number,
  server: optional(text),
});

export function toDueEntry(item: Item): DueEntry {
  const runId = runIdOf(item);
  const { dueAtMs, ...ofToken } = dueFields.read(item);
  if (item.sk.startsWith(tokenPrefix)) {
    return {
      kind: 'token',
      runId,
      waitId: waitIdOf(item),
      ...ofToken,
      dueAtMs,
      settled: item['settledAtMs'] !== undefined,
      isLongStep: item['stepFailures'] !== undefined,
    };
  }
  if (item.sk.startsWith(pushConfigPrefix)) return { kind: 'push', runId, configId: pushConfigIdOf(item), dueAtMs };
  return { kind: item.sk === headSk ? 'run' : 'inbox', runId, dueAtMs };
}
