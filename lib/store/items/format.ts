import { EngineError } from '../../base/errors.js';
import type { Condition, Item, Write } from '../table.js';

/**
 * The newest format of items that this version reads. An item names its format in the attribute `format`; without it
 * the format is 1. A change of what an item means to its readers, or of what a write must not lose, needs the next
 * format. An attribute that older versions may ignore needs none.
 */
export const itemFormat = 3;

/** Format of a head with conditions on its start: a version that does not know them would run the code at once. */
export const headWithConditions = 2;

/** Format of a head that is counted: a version that does not know that would never end the count. */
export const headWithCount = 3;
/**
 * Format of a head with a place in a lane, or whose start is debounced: a version that does not know them would begin
 * the run too early, or would not tell the next run of its end.
 */
export const limitedHead = 3;

/**
 * Format of the head of a run that is served, or has a callback: a version that does not know that would end a cancelled
 * task as completed, or tell nobody of the end.
 */
export const servedHead = 3;

export const formatAttribute = 'format';

const formatIsKnown: Condition = { kind: 'absentOrAtMost', attribute: formatAttribute, value: itemFormat };

/** Adds the condition that the write does not replace an item of a newer format. */
export function keepingNewer<Kind extends Write>(write: Kind): Kind {
  return { ...write, conditions: [...write.conditions, formatIsKnown] };
}

/**
 * Checks an item that was read, or that caused a write to be refused.
 * @throws EngineError `HISTORY_FORMAT_UNKNOWN` for a newer format
 */
export function checkFormat(item: Item | undefined): void {
  const format = item?.[formatAttribute];
  if (item === undefined || format === undefined || (typeof format === 'number' && format <= itemFormat)) return;
  throw new EngineError(
    'HISTORY_FORMAT_UNKNOWN',
    `item ${item.pk} ${item.sk} has format ${format}; this version reads formats up to ${itemFormat}`,
  );
}
