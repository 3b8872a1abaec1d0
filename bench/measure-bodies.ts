import { exchangeOf, untilResponse } from '../lib/remote/rpc/exchange.js';
import { EventStreamSearch } from '../lib/remote/rpc/json-rpc.js';

const size = 4 * 1024 * 1024 - 1_024;
const id = '0'.repeat(32);

const filled = (piece: string): string => piece.repeat(Math.floor(size / piece.length));
const response = (inner: string): string => `{"jsonrpc":"2.0","id":"${id}","result":${inner}}`;
const list = (item: string): string => response(`[${filled(`${item},`)}0]`);

interface Body {
  readonly type: 'json' | 'event-stream';
  readonly text: string;
  readonly isParsed?: true;
}

/**
 * Bodies that a hostile server may send, or that are only large, each of nearly 4 MiB, the most that is read.
 * `isParsed`: within the limits, as numbers and strings are; JSON.parse alone may take longer for it than for rows of
 * that size.
 */
const bodies: Readonly<Record<string, Body>> = {
  events: { type: 'event-stream', text: filled('data:x\n\n') },
  emptyEvents: { type: 'event-stream', text: filled('data\n\n') },
  emptyLines: { type: 'event-stream', text: filled('\n') },
  unknownLines: { type: 'event-stream', text: filled('x\n') },
  oneEvent: { type: 'event-stream', text: filled('data:x\n') },
  eventsOfObjects: { type: 'event-stream', text: filled('data:{}\n\n') },
  eventsWithId: { type: 'event-stream', text: filled(`data:{"method":"m","id":"${id}"}\n\n`), isParsed: true },
  objects: { type: 'json', text: list('{}') },
  arrays: { type: 'json', text: list('[]') },
  depth: { type: 'json', text: response(filled('[')) },
  keys: { type: 'json', text: response(`{${filled('"a":0,')}"b":0}`) },
  smallTexts: { type: 'json', text: list('"a"'), isParsed: true },
  numbers: { type: 'json', text: list('12.5'), isParsed: true },
  overflow: { type: 'json', text: list('1e9').replace(/0\]\}$/, '1e400]}'), isParsed: true },
  unaddressed: { type: 'json', text: list('"a"').replaceAll(id, 'x'), isParsed: true },
};

const row =
  '{"id":1234567,"name":"Miller & Sons","city":"Springfield, somewhere further on","total":1234.5,"paid":true}';
const rows = response(`[${filled(`${row},`)}${row}]`);

/** Splits a text as a socket delivers it: in pieces, none of which is a view of another text. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += 65_536) pieces.push(Buffer.from(text.slice(at, at + 65_536)).toString());
  return pieces;
}

function read({ type }: Body, pieces: readonly string[]): void {
  const head = { status: 200, headers: { 'content-type': type === 'json' ? 'application/json' : 'text/event-stream' } };
  const search = new EventStreamSearch(id);
  const enough = untilResponse(search);
  for (const piece of pieces) if (enough(head, piece)) break;
  exchangeOf({ kind: 'reply', ...head, text: pieces.join('') }, id, 0, search);
}

/** Returns the texts of a body that JSON.parse itself has to read. */
function documentsIn({ type, text }: Body): readonly string[] {
  return type === 'json' ? [text] : text.split('\n\n').flatMap((event) => (event === '' ? [] : [event.slice(5)]));
}

/**
 * Measures CPU time, which other load on the machine lengthens less than wall-clock time; returns the least of three.
 */
function leastMs(work: () => void): number {
  const times = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

export interface BodyRatios {
  readonly name: string;
  /** Time to read it, as a multiple of one JSON.parse of ordinary rows of that size. */
  readonly toRows: readonly number[];
  /**
   * Time to read it, as a multiple of JSON.parse of its parsed parts. Undefined for a body that is refused or left out.
   */
  readonly toItself?: readonly number[];
}

export function bodyRatios(rounds = 5): readonly BodyRatios[] {
  return Object.entries(bodies).map(([name, body]) => {
    const pieces = piecesOf(body.text);
    const documents = documentsIn(body);
    const toRows: number[] = [];
    const toItself: number[] = [];
    for (let round = 0; round < rounds; round++) {
      // The two alternate, so that other load on the machine affects both.
      const rowsMs = leastMs(() => JSON.parse(rows) as unknown);
      const readMs = leastMs(() => {
        read(body, pieces);
      });
      toRows.push(readMs / rowsMs);
      if (body.isParsed === undefined) continue;
      const parseMs = leastMs(() => {
        for (const text of documents) JSON.parse(text);
      });
      toItself.push(readMs / parseMs);
    }
    return { name, toRows, ...(body.isParsed === undefined ? {} : { toItself }) };
  });
}
