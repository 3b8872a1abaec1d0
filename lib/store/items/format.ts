import { EngineError } from '../../base/errors.js';
import type { Condition, Item, Write } from '../table.js';

/**
 * The newest form of items that this version reads. An item says its form with the attribute `format`; without it the
 * form is 1. Whoever changes what an item means to its readers, or what must not be lost when it is written, puts the
 * next form on it. An attribute that older versions may ignore needs none.
 */
export const itemFormat = 2;

/** The form of a head that says what its run must do before its code runs: a version that does not know it would run the code at once. */
export const headWithConditions = 2;

export const formAttribute = 'format';

const formIsKnown: Condition = { kind: 'absentOrAtMost', attribute: formAttribute, value: itemFormat };

/** The write, but not over an item of a newer form. */
export function keepingNewer<Kind extends Write>(write: Kind): Kind {
  return { ...write, conditions: [...write.conditions, formIsKnown] };
}

/**
 * For items read, and those that a write was refused because of.
 * @throws EngineError `HISTORY_FORMAT_UNKNOWN` for a newer form
 */
export function checkForm(item: Item | undefined): void {
  const format = item?.[formAttribute];
  if (item === undefined || format === undefined || (typeof format === 'number' && format <= itemFormat)) return;
  throw new EngineError(
    'HISTORY_FORMAT_UNKNOWN',
    `item ${item.pk} ${item.sk} has the form ${format}, this version reads forms up to ${itemFormat}`,
  );
}
