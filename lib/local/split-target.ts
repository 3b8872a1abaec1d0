/**
 * Returns path and query of a request target, which may be a whole URL; a target without a path (`*`) counts as `/`.
 */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  if (!target.startsWith('/')) {
    if (!URL.canParse(target)) return { path: '/', query: '' };
    const { pathname, search } = new URL(target);
    return { path: pathname, query: search.slice(1) };
  }
  const mark = target.indexOf('?');
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
