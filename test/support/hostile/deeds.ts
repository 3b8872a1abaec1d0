import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

/** A request to a server, and the correct answer to it. */
export interface Asked {
  readonly id: string;
  /** The result of the correct answer. */
  readonly good: object;
  /** The result for another task. */
  readonly forged: object;
  /** The result for an earlier state of the same task. */
  readonly earlier: object;
  /** URL of a server on this machine that nothing may be led to. */
  readonly trap: string;
}

/** A way to be a bad server: answers `response`, or never does. */
export interface Deed {
  readonly name: string;
  readonly answer: (asked: Asked, response: ServerResponse) => void;
}

const MiB = 1024 * 1024;
const bomb = gzipSync(Buffer.alloc(64 * MiB));

function json(response: ServerResponse, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

const rightText = ({ id, good }: Asked): string => JSON.stringify({ jsonrpc: '2.0', id, result: good });

/** Writes pieces for as long as the client reads, `everyMs` apart; 0: as fast as they are taken. */
function pour(response: ServerResponse, contentType: string, piece: string, everyMs: number): void {
  response.writeHead(200, { 'content-type': contentType });
  const timer = setInterval(() => {
    while (!response.destroyed && response.write(piece) && everyMs === 0);
  }, everyMs);
  response.on('close', () => {
    clearInterval(timer);
  });
}

/** Bad answers, none of which may settle anything, lead anywhere, or cost memory. */
export const deeds: readonly Deed[] = [
  {
    name: 'a slow drip',
    answer: (_asked, response) => {
      pour(response, 'application/json', ' ', 10);
    },
  },
  {
    name: 'an endless event stream',
    answer: (_asked, response) => {
      pour(response, 'text/event-stream', 'data: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n', 0);
    },
  },
  {
    name: 'comments in an event stream',
    answer: (_asked, response) => {
      pour(response, 'text/event-stream', ':\n\n', 5);
    },
  },
  {
    name: 'a body of 64 MiB',
    answer: (_asked, response) => {
      pour(response, 'application/json', ' '.repeat(65_536), 0);
    },
  },
  {
    name: 'one line of 64 MiB in an event stream',
    answer: (_asked, response) => {
      pour(response, 'text/event-stream', 'x'.repeat(65_536), 0);
    },
  },
  {
    name: 'JSON of 100,000 levels',
    answer: (asked, response) => {
      json(response, `{"jsonrpc":"2.0","id":"${asked.id}","result":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    },
  },
  {
    name: 'JSON of a million keys',
    answer: (asked, response) => {
      const keys = Array.from({ length: 200_000 }, (_, at) => `"k${at}":0`).join();
      json(response, `{"jsonrpc":"2.0","id":"${asked.id}","result":{${keys}}}`);
    },
  },
  {
    name: 'a gzip bomb',
    answer: (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(bomb);
    },
  },
  {
    name: 'a redirect to where clouds keep credentials',
    answer: (_asked, response) =>
      void response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  },
  {
    name: 'a redirect to this machine',
    answer: ({ trap }, response) => void response.writeHead(302, { location: trap }).end(),
  },
  {
    name: 'the right result under the id of another request',
    answer: (asked, response) => {
      json(response, rightText({ ...asked, id: `${asked.id}0` }));
    },
  },
  {
    name: 'the right result before the request, in a stream',
    answer: (asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${rightText({ ...asked, id: 'before' })}\n\n`);
    },
  },
  {
    name: 'a forged task',
    answer: (asked, response) => {
      json(response, rightText({ ...asked, good: asked.forged }));
    },
  },
  {
    name: 'a state from before',
    answer: (asked, response) => {
      json(response, rightText({ ...asked, good: asked.earlier }));
    },
  },
  {
    name: 'the right result with a length that is too long',
    answer: (asked, response) => {
      const text = rightText(asked);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length + 1 });
      response.write(text, () => response.destroy());
    },
  },
  {
    name: 'keys that mean something to JavaScript',
    answer: (asked, response) => {
      const polluted = `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}`;
      json(response, `{"jsonrpc":"2.0","id":"${asked.id}","result":${polluted}}`);
    },
  },
];
