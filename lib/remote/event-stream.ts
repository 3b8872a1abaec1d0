import { createParser } from 'eventsource-parser';
import { eventStreamSliceChars } from '../base/limits.js';

/**
 * Reads an event stream: takes its pieces as they come, and gives the data of each event to `onData`. The parser gets
 * them in slices: it looks for both kinds of line end from every line on, which takes minutes for 4 MiB of empty lines
 * that all end in the same one.
 */
export function eventStream(onData: (data: string) => void): (piece: string) => void {
  const parser = createParser({
    onEvent: ({ data }) => {
      onData(data);
    },
  });
  return (piece) => {
    for (let at = 0; at < piece.length; at += eventStreamSliceChars)
      parser.feed(piece.slice(at, at + eventStreamSliceChars));
  };
}
