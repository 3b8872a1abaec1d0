const begin = '<!-- npm run cost writes from here -->\n';
const end = '<!-- to here -->';

/** Returns the text between the two marks. */
export function tablesIn(document: string): string {
  const [from, to] = placeOf(document);
  return document.slice(from, to).trim();
}

/** Returns the document with the text between the two marks replaced. */
export function withTables(document: string, tables: string): string {
  const [from, to] = placeOf(document);
  return `${document.slice(0, from)}\n${tables}\n\n${document.slice(to)}`;
}

function placeOf(document: string): readonly [from: number, to: number] {
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the document must have the marks ${begin.trim()} and ${end}`);
  return [from + begin.length, to];
}
