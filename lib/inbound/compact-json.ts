/**
 * Returns JSON without the spaces between its parts, and with its strings written in the shortest way: what senders sign
 * whose library then sends the same value with spaces or escapes. Numbers, the order of keys and repeated keys stay as
 * they are, so JSON with the same compact form means the same. Returns undefined for what cannot be JSON in UTF-8.
 */
export function compactJson(bytes: Uint8Array): string | undefined {
  try {
    return compacted(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** @throws SyntaxError for a string that is none */
function compacted(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      parts.push(text.slice(from, at), JSON.stringify(JSON.parse(text.slice(at, end))));
      from = end;
      at = end - 1;
    } else if (char === ' ' || char === '\n' || char === '\r' || char === '\t') {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** Returns the index behind the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}
