import { printableJson, printableLines } from './printable.js';

/** Prints the result of a command: as one line of JSON with `--json`, otherwise as text. */
export function print(flags: { readonly json?: boolean }, answer: object, text: () => string): void {
  console.log(flags.json === true ? printableJson(answer) : printableLines(text()));
}
