/** `Values` after undefined properties are removed: properties that may be undefined are optional. */
export type Defined<Values> = {
  [Name in keyof Values as undefined extends Values[Name] ? never : Name]: Values[Name];
} & {
  [Name in keyof Values as undefined extends Values[Name] ? Name : never]?: Exclude<Values[Name], undefined>;
};

/**
 * Returns a copy without undefined properties, in the same order. Under `exactOptionalPropertyTypes` an optional
 * property is missing or has a value, so `{ a, ...defined({ b, c }) }` builds an object from values that may be
 * undefined.
 */
export function defined<const Values extends object>(values: Values): Defined<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<Values>;
}
