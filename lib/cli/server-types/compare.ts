// Compares two files of types by servers, tools and skills. Pure.

const changesMax = 50;
const linesMax = 6;

/** Returns lines of `outwait types --check`, such as `+ reports: tool "ping"`; empty if the files do not differ. */
export function changesBetween(before: string, after: string): readonly string[] {
  const [was, is] = [plain(before), plain(after)];
  if (was === is) return [];
  const [old, now] = [entriesIn(was), entriesIn(is)];
  const changes = [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((key) => {
    const [from, to] = [old.get(key), now.get(key)];
    if (from === undefined) return [`+ ${key}`];
    if (to === undefined) return [`- ${key}`];
    return from.join('\n') === to.join('\n') ? [] : [`~ ${key}`, ...changedLines(from, to)];
  });
  if (changes.length === 0) return ['~ different format of the file'];
  const more = changes.length - changesMax;
  return more > 0 ? [...changes.slice(0, changesMax), `… ${more} more lines`] : changes;
}

/** Normalizes line ends, which git may have changed. */
function plain(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** Returns the lines of each server, tool and skill, recognized by the indentation, which is always the same. */
function entriesIn(text: string): ReadonlyMap<string, readonly string[]> {
  const entries = new Map<string, string[]>();
  let [server, kind, lines]: [string, string, string[]] = ['', '', []];
  for (const line of text.split('\n')) {
    const [, indent = '', name = ''] =
      /^( {4}| {6}| {8})((?:"(?:[^"\\]|\\.)*"|\[name: string\]|[\w$]+)): \{/.exec(line) ?? [];
    lines.push(line.trim());
    if (indent.length === 4) {
      server = name;
      entries.set(`server ${server}`, lines);
    } else if (indent.length === 6) kind = name === 'tools' ? 'tool' : 'skill';
    else if (indent.length === 8) entries.set(`${server}: ${kind} ${name}`, lines);
    // End of an entry: the following lines belong to the next one.
    const isHead = indent.length === 4 || indent.length === 6 || line.startsWith('  interface ');
    if (isHead || /^( {4}| {6}| {8})(\};|.*: \{\};)$/.test(line)) lines = [];
  }
  return entries;
}

function changedLines(from: readonly string[], to: readonly string[]): readonly string[] {
  const gone = from.filter((line) => !to.includes(line)).map((line) => `    - ${line}`);
  const come = to.filter((line) => !from.includes(line)).map((line) => `    + ${line}`);
  const lines = [...gone, ...come];
  return lines.length > linesMax ? [...lines.slice(0, linesMax), `    … ${lines.length - linesMax} more lines`] : lines;
}
