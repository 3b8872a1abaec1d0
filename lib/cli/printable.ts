// Text of a remote server or an author is printed to a terminal, which must not interpret any of it.

/** C0 except the line feed, DEL, C1, characters that reorder text or break lines, and the marks of our own styles. */
const controls =
  /[\ufdd0-\ufdef\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Returns `text` as one line, with each control character as `\u{…}`. */
export function printable(text: string): string {
  return printableLines(text).replaceAll('\n', ' ');
}

/** Returns `text` with its lines, and with each other control character as `\u{…}`. */
export function printableLines(text: string): string {
  return text.replace(controls, (character) => `\\u{${codeOf(character)}}`);
}

/** Returns `text` as `printableLines` does, but with the marks of our own styles, which `paint` replaces. */
export function printableStyledLines(text: string): string {
  return text.replace(controls, (character) =>
    /[\ufdd0-\ufdef]/.test(character) ? character : `\\u{${codeOf(character)}}`,
  );
}

/** Returns equivalent JSON text without control characters, which can only occur in strings there. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(controls, (character) => `\\u${codeOf(character).padStart(4, '0')}`);
}

function codeOf(character: string): string {
  return character.charCodeAt(0).toString(16);
}
