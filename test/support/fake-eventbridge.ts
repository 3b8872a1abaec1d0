// A fake of EventBridge's PutEvents on this machine.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LifecycleEvent } from '../../lib/history/lifecycle-event.js';
import { outputs } from './outputs/heard.js';

export interface Entry {
  readonly EventBusName: string;
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
  readonly Time: number;
  readonly Resources: readonly string[];
}

/**
 * Fault of one request. `failed`: the entries at these positions are not taken. `refused`: none is. `hangs`: there is
 * no answer; `halfAnswered`: only the beginning of one. `lost`: all are taken, and the connection breaks.
 */
export type Fault =
  | { readonly kind: 'failed'; readonly codes: Readonly<Record<number, string>> }
  | { readonly kind: 'refused'; readonly status: number; readonly error: string }
  | { readonly kind: 'hangs' }
  | { readonly kind: 'halfAnswered' }
  | { readonly kind: 'lost' };

export interface FakeEventBridge {
  readonly endpoint: string;
  /** Entries of each request. */
  readonly requests: readonly (readonly Entry[])[];
  /** Details of the events that were taken, in order. */
  readonly taken: readonly LifecycleEvent[];
  /** Faults of the next requests, in order; later requests have none. */
  readonly faults: (Fault | undefined)[];
  close(): Promise<void>;
}

export async function startFakeEventBridge(): Promise<FakeEventBridge> {
  const requests: Entry[][] = [];
  const taken: LifecycleEvent[] = [];
  const faults: (Fault | undefined)[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
      const { Entries: entries } = JSON.parse(Buffer.concat(parts).toString()) as { readonly Entries: Entry[] };
      requests.push(entries);
      for (const entry of entries) outputs.hear('event', JSON.stringify(entry));
      const fault = faults.shift();
      if (fault?.kind === 'hangs') return;
      response.setHeader('content-type', 'application/x-amz-json-1.1');
      if (fault?.kind === 'halfAnswered') {
        response.write('{');
        return;
      }
      if (request.headers['x-amz-target'] !== 'AWSEvents.PutEvents' || fault?.kind === 'refused') {
        const { status, error } =
          fault?.kind === 'refused' ? fault : { status: 400, error: 'UnknownOperationException' };
        response.writeHead(status).end(JSON.stringify({ __type: error, message: 'no' }));
        return;
      }
      const codes = fault?.kind === 'failed' ? fault.codes : {};
      taken.push(
        ...entries.filter((_, at) => codes[at] === undefined).map(({ Detail }) => JSON.parse(Detail) as LifecycleEvent),
      );
      if (fault?.kind === 'lost') {
        request.socket.destroy();
        return;
      }
      const results = entries.map((_, at) =>
        codes[at] === undefined ? { EventId: `event-${at}` } : { ErrorCode: codes[at], ErrorMessage: 'no' },
      );
      response.end(JSON.stringify({ FailedEntryCount: Object.keys(codes).length, Entries: results }));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    taken,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
