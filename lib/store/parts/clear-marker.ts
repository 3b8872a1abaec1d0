import { defined } from '../../base/defined.js';
import type { Attributes } from '../items/fields.js';
import { markerAttributes } from '../items/indexes.js';
import type { Condition, Key, Table } from '../table.js';

/** Takes an item out of the due index. False: a marker stands. */
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
