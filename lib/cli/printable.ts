// Text of a remote server or of an author goes to a terminal, which must not take any of it for a command.

/** C0 but the line feed, DEL, C1, and what reorders or breaks lines. */
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** `text` in one line, each control character shown as `\u{…}`. */
export function printable(text: string): string {
  return printableLines(text).replaceAll('\n', ' ');
}

/** The same with its lines kept. */
export function printableLines(text: string): string {
  return text.replace(controls, (character) => `\\u{${codeOf(character)}}`);
}

/** JSON text that means the same and holds no control characters: they can only be inside of strings there. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(controls, (character) => `\\u${codeOf(character).padStart(4, '0')}`);
}

function codeOf(character: string): string {
  return character.charCodeAt(0).toString(16);
}
