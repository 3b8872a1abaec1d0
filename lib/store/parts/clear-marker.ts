import { defined } from '../../base/defined.js';
import type { Attributes } from '../items/fields.js';
import { markerAttributes } from '../items/indexes.js';
import type { Condition, Key, Table } from '../table.js';

/** Removes an item from the due index. Returns false if another marker stays. */
export async function clearMarker(
  table: Table,
  key: Key,
  conditions: readonly Condition[],
  set: Attributes = {},
): Promise<boolean> {
  const result = await table.write({
    kind: 'update',
    key,
    ...defined({ set: Object.keys(set).length === 0 ? undefined : set }),
    remove: markerAttributes,
    conditions,
  });
  return result.ok || result.old?.['dueAtMs'] === undefined;
}
