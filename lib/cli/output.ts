import { printableJson, printableLines } from './printable.js';

/** Prints the answer of a command: as JSON in one line where that was asked for, else as text. */
export function print(flags: { readonly json?: boolean }, answer: object, text: () => string): void {
  console.log(flags.json === true ? printableJson(answer) : printableLines(text()));
}
