// How the properties of a record are stored, in both directions: a table of fields names each property and each
// attribute once. Pure.

import { EngineError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { Item, Scalar } from '../table.js';
import { decodePayload, encodePayload } from './payload.js';

export type Attributes = Readonly<Record<string, Scalar>>;

/** How one value is stored, under the name of its property unless the table of fields gives another. */
export interface Field<Value> {
  /** Attributes of the value. A value that may be absent is absent if the first of them is. */
  readonly names: (name: string) => readonly string[];
  readonly write: (value: Value, name: string) => Attributes;
  readonly read: (item: Item, name: string) => Value;
}

type FieldsOf<Values> = { readonly [Name in keyof Required<Values>]: Field<Values[Name]> };

/** The stored form of a record, or of a part of one. */
export interface Fields<Values> {
  readonly read: (item: Item) => Values;
  /** Returns the attributes of the given properties. */
  readonly write: (values: { readonly [Name in keyof Values]?: Values[Name] | undefined }) => Attributes;
  /** Names of all attributes. */
  readonly attributes: readonly string[];
  /** Returns the attribute names of some properties. */
  readonly names: (...properties: readonly (keyof Values & string)[]) => readonly string[];
  /** Returns the fields of some properties only. */
  readonly only: <Name extends keyof Values & string>(...properties: readonly Name[]) => Fields<Pick<Values, Name>>;
}

/** Creates a table of fields. A property whose value is undefined is left out of what is read and written. */
export function fields<Values extends object>(table: FieldsOf<Values>): Fields<Values> {
  const entries = Object.entries<Field<unknown>>(table as unknown as Record<string, Field<unknown>>);
  const namesOf = ([property, field]: (typeof entries)[number]): readonly string[] => field.names(property);
  return {
    read(item) {
      const values: Record<string, unknown> = {};
      for (const [name, field] of entries) {
        const value = field.read(item, name);
        if (value !== undefined) values[name] = value;
      }
      return values as Values;
    },
    write(values) {
      const given: Readonly<Record<string, unknown>> = values;
      const attributes: Record<string, Scalar> = {};
      for (const [name, field] of entries)
        if (given[name] !== undefined) Object.assign(attributes, field.write(given[name], name));
      return attributes;
    },
    attributes: entries.flatMap(namesOf),
    names: (...properties) => entries.filter(([name]) => properties.includes(name as never)).flatMap(namesOf),
    only: <Name extends keyof Values & string>(...properties: readonly Name[]) =>
      fields(
        Object.fromEntries(entries.filter(([name]) => properties.includes(name as Name))) as unknown as FieldsOf<
          Pick<Values, Name>
        >,
      ),
  };
}

export const text: Field<string> = scalar((item, name) => {
  const value = item[name];
  if (typeof value !== 'string') throw damaged(item, name, 'a string');
  return value;
});

/** A text that is one of our own words. */
export const word = <Word extends string>(): Field<Word> => text as unknown as Field<Word>;

export const number: Field<number> = scalar((item, name) => {
  const value = item[name];
  if (typeof value !== 'number') throw damaged(item, name, 'a number');
  return value;
});

/** JSON in the payload codec; it may be sealed, or in chunks. */
export const payload = <Value = JsonValue>(): Field<Value> => ({
  names: itself,
  write: (value, name) => ({ [name]: encodePayload(value as unknown as JsonValue) }),
  read: (item, name) => decodePayload(text.read(item, name)) as unknown as Value,
});

/** JSON as a small text that is never sealed. */
export const json = <Value>(): Field<Value> => ({
  names: itself,
  write: (value, name) => ({ [name]: JSON.stringify(value) }),
  read: (item, name) => JSON.parse(text.read(item, name)) as Value,
});

/** A boolean; true is stored as 1, false is not stored. */
export const flag: Field<boolean | undefined> = {
  names: itself,
  write: (value, name) => (value === true ? { [name]: 1 } : {}),
  read: (item, name) => (item[name] === undefined ? undefined : true),
};

export const optional = <Value>(field: Field<Value>): Field<Value | undefined> => ({
  names: field.names,
  write: (value, name) => (value === undefined ? {} : field.write(value, name)),
  read: (item, name) => (isAbsent(item, field, name) ? undefined : field.read(item, name)),
});

/** Reads `value` if the field is absent. */
export const orElse = <Value>(field: Field<Value>, value: Value): Field<Value> => ({
  ...field,
  read: (item, name) => (isAbsent(item, field, name) ? value : field.read(item, name)),
});

/** A number; zero is not stored. */
export const count: Field<number> = {
  ...orElse(number, 0),
  write: (value, name) => (value === 0 ? {} : { [name]: value }),
};

/** Stores a field under another name than that of the property. */
export const named = <Value>(attribute: string, field: Field<Value>): Field<Value> => ({
  names: () => field.names(attribute),
  write: (value) => field.write(value, attribute),
  read: (item) => field.read(item, attribute),
});

/** An object whose properties are attributes next to those of the whole record. */
export const group = <Values extends object>(parts: Fields<Values>): Field<Values> => ({
  names: () => parts.attributes,
  write: parts.write,
  read: parts.read,
});

function scalar<Value extends Scalar>(read: Field<Value>['read']): Field<Value> {
  return { names: itself, write: (value, name) => ({ [name]: value }), read };
}

function itself(name: string): readonly [string] {
  return [name];
}

function isAbsent(item: Item, field: Pick<Field<unknown>, 'names'>, name: string): boolean {
  const [first = name] = field.names(name);
  return item[first] === undefined;
}

function damaged(item: Item, attribute: string, expected: string): EngineError {
  const got = typeof item[attribute];
  return new EngineError(
    'HISTORY_FORMAT_UNKNOWN',
    `item ${item.pk} ${item.sk}: ${attribute} must be ${expected}, got ${got}`,
  );
}
