/** Whether a value is a list. Narrows to a readonly one, where `Array.isArray` would narrow to `any[]`. */
export function isList<Entry>(value: Entry | readonly Entry[]): value is readonly Entry[] {
  return Array.isArray(value);
}
