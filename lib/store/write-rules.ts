// The effect of a write on an item, as a function: the rules of DynamoDB as far as `Table` uses them.

import { EngineError } from '../base/errors.js';
import { utf8Bytes } from '../base/json.js';
import { tableIndexes } from './table.js';
import type { Condition, Item, Key, Scalar, Update, Write, WriteResult } from './table.js';

/** Limits of DynamoDB for an item, the parts of a key of table or index, and a transaction. */
export const itemMaxBytes = 400 * 1024;
const partitionKeyMaxBytes = 2 * 1024;
const sortKeyMaxBytes = 1024;
const transactionMaxWrites = 100;
const transactionMaxBytes = 4 * 1024 * 1024;

/**
 * Applies `write` to the stored item `old`; on success `item` is frozen and shares nothing with the caller. Throws
 * EngineError `PAYLOAD_TOO_LARGE` for an item over 400 KB and `INTERNAL` for a write that no table would take, whatever its conditions.
 */
export function applyWrite(old: Item | undefined, write: Write): WriteResult {
  checkKey(keyOf(write));
  if (!write.conditions.every((condition) => holds(condition, old))) return { ok: false, old };
  const item = write.kind === 'put' ? itemOf(write.item) : updated(old, write);
  checkItem(item);
  return { ok: true, item: Object.freeze(item) };
}

export function keyOf(write: Write): Key {
  return write.kind === 'put' ? write.item : write.key;
}

/** Throws EngineError `INTERNAL` unless there are 1 to 100 writes, each on another item and each changing something. */
export function checkTransaction(writes: readonly Write[]): void {
  if (writes.length === 0 || writes.length > transactionMaxWrites) {
    throw refuse(`a transaction must have 1 to ${transactionMaxWrites} writes, got ${writes.length}`);
  }
  const keys = new Set(writes.map((write) => JSON.stringify([keyOf(write).pk, keyOf(write).sk])));
  if (keys.size !== writes.length) throw refuse('a transaction must write each item at most once');
  if (writes.some((write) => write.kind === 'update' && attributesOf(write).length === 0)) {
    throw refuse('an update in a transaction must change something');
  }
}

/** Throws EngineError `PAYLOAD_TOO_LARGE` if the items are too large for one transaction. */
export function checkTransactionBytes(items: readonly Item[]): void {
  const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0);
  if (bytes > transactionMaxBytes) {
    throw new EngineError(
      'PAYLOAD_TOO_LARGE',
      `a transaction may hold at most ${transactionMaxBytes} bytes, got ${bytes}`,
    );
  }
}

/** Compares two sort values: numbers by value, strings by their UTF-8 bytes. */
export function compareScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return compareUtf8(String(a), String(b));
}

export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    // UTF-16 orders surrogates below U+E000, UTF-8 orders the characters they stand for above U+FFFF.
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

function rank(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}

function holds(condition: Condition, old: Item | undefined): boolean {
  switch (condition.kind) {
    case 'itemExists':
      return old !== undefined;
    case 'itemAbsent':
      return old === undefined;
    case 'absent':
      return old?.[condition.attribute] === undefined;
    case 'present':
      return old?.[condition.attribute] !== undefined;
    case 'equals':
      return old?.[condition.attribute] === condition.value;
    case 'absentOrAtMost': {
      const value = old?.[condition.attribute];
      return value === undefined || (typeof value === 'number' && value <= condition.value);
    }
    case 'absentOrAbove': {
      const value = old?.[condition.attribute];
      return value === undefined || (typeof value === 'number' && value > condition.value);
    }
  }
}

type MutableItem = { pk: string; sk: string } & Record<string, Scalar | undefined>;

function itemOf({ pk, sk, ...attributes }: Item): MutableItem {
  const item: MutableItem = { pk, sk };
  for (const [name, value] of Object.entries(attributes)) assign(item, name, value);
  return item;
}

function attributesOf({ set = {}, remove = [], increment = {} }: Update): string[] {
  return [...Object.keys(set), ...remove, ...Object.keys(increment)];
}

function updated(old: Item | undefined, write: Update): MutableItem {
  const { set = {}, remove = [], increment = {} } = write;
  const names = attributesOf(write);
  const item: MutableItem = old === undefined ? { pk: write.key.pk, sk: write.key.sk } : { ...old };
  if (new Set(names).size !== names.length) throw refuse('an update must name each attribute at most once');
  if (names.some((name) => name === 'pk' || name === 'sk')) throw refuse('an update must not change the key');
  for (const [name, value] of Object.entries(set)) assign(item, name, value);
  for (const [name, by] of Object.entries(increment)) {
    const current = item[name] ?? 0;
    if (typeof current !== 'number') throw refuse(`"${name}" is not a number and cannot be incremented`);
    assign(item, name, current + by);
  }
  return Object.fromEntries(Object.entries(item).filter(([name]) => !remove.includes(name))) as MutableItem;
}

function assign(item: MutableItem, name: string, value: Scalar | undefined): void {
  if (value === undefined) return;
  if (typeof value === 'number' && !isStorable(value)) throw refuse(`"${name}" is not a number that can be stored`);
  // DynamoDB has no negative zero.
  item[name] = value === 0 ? 0 : value;
}

/** Returns false for a number outside the range of DynamoDB. */
function isStorable(value: number): boolean {
  const size = Math.abs(value);
  return value === 0 || (size >= 1e-130 && size < 1e126);
}

function checkItem(item: Item): void {
  if (item.pk === '' || item.sk === '') throw refuse('a key must not be empty');
  checkKeyBytes(item.pk, item.sk);
  for (const index of Object.values(tableIndexes)) {
    const [partition, sort] = [item[index.partition], item[index.sort]];
    if (partition !== undefined && (typeof partition !== 'string' || partition === '')) {
      throw refuse(`"${index.partition}" must be a non-empty string`);
    }
    if (sort !== undefined && (typeof sort !== index.sortType || sort === '')) {
      throw refuse(`"${index.sort}" must be a ${index.sortType} and not empty`);
    }
    checkKeyBytes(partition, sort);
  }
  const bytes = itemBytes(item);
  if (bytes > itemMaxBytes) {
    throw new EngineError('PAYLOAD_TOO_LARGE', `an item may hold at most ${itemMaxBytes} bytes, got ${bytes}`);
  }
}

/** Checks the lengths of a key, which DynamoDB does for reads too. @throws EngineError `INTERNAL` */
export function checkKey({ pk, sk }: Key): void {
  checkKeyBytes(pk, sk);
}

function checkKeyBytes(partition: Scalar | undefined, sort: Scalar | undefined): void {
  if (typeof partition === 'string' && utf8Bytes(partition) > partitionKeyMaxBytes)
    throw refuse(`the partition of a key may have at most ${partitionKeyMaxBytes} bytes`);
  if (typeof sort === 'string' && utf8Bytes(sort) > sortKeyMaxBytes)
    throw refuse(`the sort part of a key may have at most ${sortKeyMaxBytes} bytes`);
}

/** Returns the size of an item as DynamoDB counts it; numbers to within a few bytes. */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) {
    bytes += utf8Bytes(name);
    if (typeof value === 'string') bytes += utf8Bytes(value);
    else if (value !== undefined) bytes += Math.ceil(String(value).length / 2) + 1;
  }
  return bytes;
}

function refuse(message: string): EngineError {
  return new EngineError('INTERNAL', `the request is not possible: ${message}`);
}
