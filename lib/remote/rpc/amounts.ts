import { defined } from '../../base/defined.js';
import { isJsonObject, type JsonValue } from '../../base/json.js';

/**
 * Returns the progress of a task as a number, from the first object that has one. No protocol defines it for tasks;
 * `progress` and `total` are the names of MCP's progress notifications, which servers also use elsewhere.
 */
export function amountsIn(...places: readonly (JsonValue | undefined)[]): {
  readonly progress?: number;
  readonly total?: number;
} {
  for (const place of places) {
    if (!isJsonObject(place) || typeof place['progress'] !== 'number') continue;
    const { progress, total } = place;
    return { progress, ...defined({ total: typeof total === 'number' ? total : undefined }) };
  }
  return {};
}
