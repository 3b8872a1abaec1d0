import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { EngineError } from '../../base/errors.js';
import type { Item, Scalar } from '../table.js';

export type Attributes = Record<string, AttributeValue>;

export function toAttribute(value: Scalar): AttributeValue {
  return typeof value === 'number' ? { N: String(value) } : { S: value };
}

export function toAttributes(item: Readonly<Record<string, Scalar | undefined>>): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(item)) {
    if (value !== undefined) attributes[name] = toAttribute(value);
  }
  return attributes;
}

/** Throws EngineError `HISTORY_FORMAT_UNKNOWN` for an attribute of a type that we never write. */
export function fromAttributes(attributes: Readonly<Attributes>): Item {
  const item: Record<string, Scalar> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value.S !== undefined) item[name] = value.S;
    else if (value.N !== undefined) item[name] = Number(value.N);
    else throw new EngineError('HISTORY_FORMAT_UNKNOWN', `the attribute "${name}" is neither a string nor a number`);
  }
  return item as Item;
}
