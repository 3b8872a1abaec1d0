import { EngineError } from '../../base/errors.js';
import type { Condition, Item, Write } from '../table.js';

/**
 * The newest format of items that this version reads. An item says its format with the attribute `format`; without it the
 * format is 1. Whoever changes what an item means to its readers, or what must not be lost when it is written, puts the
 * next format on it. An attribute that older versions may ignore needs none.
 */
export const itemFormat = 2;

/** The format of a head that says what its run must do before its code runs: a version that does not know it would run the code at once. */
export const headWithConditions = 2;

export const formatAttribute = 'format';

const formatIsKnown: Condition = { kind: 'absentOrAtMost', attribute: formatAttribute, value: itemFormat };

/** The write, but not over an item of a newer format. */
export function keepingNewer<Kind extends Write>(write: Kind): Kind {
  return { ...write, conditions: [...write.conditions, formatIsKnown] };
}

/**
 * For items read, and those that a write was refused because of.
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
