import { EngineError } from '../base/errors.js';
import { type IndexQuery, tableIndexes, type Scalar } from './table.js';
import { compareScalars } from './write-rules.js';

/** Where a page of an index ended: the position of its last row, which may be gone. */
export interface IndexPosition {
  readonly sort: Scalar;
  readonly pk: string;
  readonly sk: string;
}

export function formatCursor(partition: string, position: IndexPosition): string {
  return Buffer.from(JSON.stringify([partition, position.sort, position.pk, position.sk])).toString('base64url');
}

/** Returns the position in the cursor, if any. Throws EngineError `INPUT_INVALID` for a cursor of another query. */
export function parseCursor(query: IndexQuery): IndexPosition | undefined {
  if (query.cursor === undefined) return undefined;
  const position = positionIn(query.cursor, query);
  if (position === undefined) throw new EngineError('INPUT_INVALID', 'the cursor does not belong to this list');
  return position;
}

function positionIn(cursor: string, query: IndexQuery): IndexPosition | undefined {
  const fields = parsedArray(Buffer.from(cursor, 'base64url').toString());
  if (fields?.length !== 4) return undefined;
  const [partition, sort, pk, sk] = fields;
  if (partition !== query.partition || typeof sort !== tableIndexes[query.index].sortType) return undefined;
  if (!isKeyPart(pk) || !isKeyPart(sk) || sort === '') return undefined;
  if (query.until !== undefined && compareScalars(sort as Scalar, query.until) > 0) return undefined;
  return { sort: sort as Scalar, pk, sk };
}

function isKeyPart(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function parsedArray(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
