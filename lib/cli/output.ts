import { printableJson, printableLines, printableStyledLines } from './printable.js';
import { paint, type Screen, screenOf, styled } from './screen.js';

/** Prints the result of a command: as one line of JSON with `--json`, otherwise as text for what it is printed to. */
export function print(flags: { readonly json?: boolean }, answer: object, text: (screen: Screen) => string): void {
  if (flags.json === true) console.log(printableJson(answer));
  else printText(text);
}

/** Returns what the command prints to, now. */
export function screenOfOutput(): Screen {
  return screenOf(process.stdout, process.env, Date.now());
}

/** Prints text for a person. */
export function printText(text: (screen: Screen) => string): void {
  const screen = screenOfOutput();
  console.log(paint(printableStyledLines(text(screen)), screen));
}

/** Prints what went wrong to stderr, after the name of the program. */
export function printProblem(text: string): void {
  const screen = screenOf(process.stderr, process.env, Date.now());
  console.error(paint(`${styled('bad', 'outwait:', screen)} ${printableLines(text)}`, screen));
}
