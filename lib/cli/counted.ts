/** Returns a number with its noun, such as `1 tool` and `2 tools`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
