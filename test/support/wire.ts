// The wire between two engines: a proxy that stays while they die, notes what passes and can lose a reply.

import { createServer, type IncomingMessage, request as requestOf, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that has passed, with the status of its answer; 0 if none came. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly status: number;
  /** Set if the answer was kept from the client. */
  readonly isLost: boolean;
}

export class Wire {
  readonly passed: Passed[] = [];
  readonly #server: Server;
  readonly #port: number;
  #loses: ((body: string) => boolean) | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
  }

  /** Opens a wire to a port of this machine, where somebody may listen later. */
  static async to(port: number): Promise<Wire> {
    const server = createServer();
    const wire = new Wire(server, port);
    server.on('request', (request, response) => {
      wire.#pass(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Loses the answer to the next request for which `isThis` returns true, after it was given. */
  loseNext(isThis: (body: string) => boolean): void {
    this.#loses = isThis;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      this.#forward(request, Buffer.concat(pieces), response);
    });
  }

  #forward({ method = '', url = '', headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const text = body.toString('utf8');
    const isLost = this.#loses?.(text) === true;
    if (isLost) this.#loses = undefined;
    const note = (status: number): void => {
      this.passed.push({ method, path: url, headers, body: text, status, isLost });
    };
    const onward = requestOf({ host: '127.0.0.1', port: this.#port, method, path: url, headers, agent: false });
    onward.on('error', () => {
      note(0);
      response.destroy();
    });
    onward.on('response', (answer) => {
      const { statusCode = 0 } = answer;
      note(statusCode);
      if (isLost) {
        answer.once('data', () => {
          response.destroy();
          onward.destroy();
        });
        return;
      }
      response.writeHead(statusCode, answer.headers);
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    response.on('close', () => {
      if (!response.writableFinished) onward.destroy();
    });
    onward.end(body);
  }
}
