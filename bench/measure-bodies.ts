import { exchangeOf, untilResponse } from '../lib/remote/exchange.js';
import { EventStreamSearch } from '../lib/remote/json-rpc.js';
import { percentile } from './statistics.js';

const size = 4 * 1024 * 1024 - 1_024;
const id = '0'.repeat(32);

const filled = (piece: string): string => piece.repeat(Math.floor(size / piece.length));
const response = (inner: string): string => `{"jsonrpc":"2.0","id":"${id}","result":${inner}}`;
const list = (item: string): string => response(`[${filled(`${item},`)}0]`);

/** What a server may send that wishes us ill, or is only large, each of nearly 4 MiB: the most that is read. */
const bodies: Readonly<Record<string, { readonly type: 'json' | 'event-stream'; readonly text: string }>> = {
  events: { type: 'event-stream', text: filled('data:x\n\n') },
  emptyEvents: { type: 'event-stream', text: filled('data\n\n') },
  emptyLines: { type: 'event-stream', text: filled('\n') },
  eventsOfObjects: { type: 'event-stream', text: filled('data:{}\n\n') },
  eventsWithId: { type: 'event-stream', text: filled(`data:{"method":"m","id":"${id}"}\n\n`) },
  objects: { type: 'json', text: list('{}') },
  arrays: { type: 'json', text: list('[]') },
  depth: { type: 'json', text: response(filled('[')) },
  keys: { type: 'json', text: response(`{${filled('"a":0,')}"b":0}`) },
  smallTexts: { type: 'json', text: list('"a"') },
  numbers: { type: 'json', text: list('12.5') },
  overflow: { type: 'json', text: list('1e9').replace(/0\]\}$/, '1e400]}') },
  unaddressed: { type: 'json', text: list('"a"').replaceAll(id, 'x') },
};

const row =
  '{"id":1234567,"name":"Miller & Sons","city":"Springfield, somewhere further on","total":1234.5,"paid":true}';
const rows = response(`[${filled(`${row},`)}${row}]`);

function msOf(work: () => unknown): number {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
}

function read({ type, text }: (typeof bodies)[string]): void {
  const head = { status: 200, headers: { 'content-type': type === 'json' ? 'application/json' : 'text/event-stream' } };
  const search = new EventStreamSearch(id);
  const enough = untilResponse(search);
  // As a socket hands it over.
  for (let at = 0; at < text.length; at += 65_536) if (enough(head, text.slice(at, at + 65_536))) break;
  exchangeOf({ kind: 'reply', ...head, text }, id, 0, search);
}

/** By name of the body: how long reading it takes, as a multiple of one `JSON.parse` of ordinary rows of that size. */
export function bodyRatios(rounds = 5): ReadonlyMap<string, readonly number[]> {
  const ratios = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    // Side by side, so that another load on the machine meets both.
    const parseMs = percentile(
      [1, 2, 3].map(() => msOf(() => JSON.parse(rows) as unknown)),
      0.5,
    );
    for (const [name, body] of Object.entries(bodies)) {
      const ratio = msOf(() => {
        read(body);
      });
      ratios.set(name, [...(ratios.get(name) ?? []), ratio / parseMs]);
    }
  }
  return ratios;
}
