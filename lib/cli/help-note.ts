import { wrap } from './table.js';

const widthDefault = 80;

/** Returns the text below the help of a command, a paragraph for each line of `text`, wrapped like the help. */
export function helpNote(text: string): () => string {
  return () => {
    const width = process.stdout.isTTY ? process.stdout.columns : widthDefault;
    return ['', ...text.split('\n').flatMap((line) => wrap(line, width))].join('\n');
  };
}
