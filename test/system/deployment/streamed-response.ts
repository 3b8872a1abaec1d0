import type { ServerResponse } from 'node:http';

/** Bytes of the metadata in front of a body, at most. */
const metadataMaxBytes = 16 * 1024;
const separator = Buffer.alloc(8);

interface Metadata {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Turns what a function streams, metadata and then the body, into a response. */
export class StreamedResponse {
  readonly #response: ServerResponse;
  readonly #renamed: ReadonlySet<string>;
  #held = Buffer.alloc(0);
  hasBegun = false;

  constructor(response: ServerResponse, renamed: ReadonlySet<string>) {
    this.#response = response;
    this.#renamed = renamed;
  }

  take(bytes: Buffer): void {
    if (this.hasBegun) {
      this.#response.write(bytes);
      return;
    }
    this.#held = Buffer.concat([this.#held, bytes]);
    const at = this.#held.indexOf(separator);
    if (at < 0) {
      if (this.#held.length > metadataMaxBytes) throw new Error('there are no metadata');
      return;
    }
    const { statusCode = 200, headers = {} } = JSON.parse(this.#held.subarray(0, at).toString()) as Metadata;
    const entries = Object.entries(headers).map(([name, value]) => [
      this.#renamed.has(name.toLowerCase()) ? `x-amzn-remapped-${name.toLowerCase()}` : name,
      value,
    ]);
    this.#response.writeHead(statusCode, Object.fromEntries(entries) as Record<string, string>);
    this.hasBegun = true;
    const rest = this.#held.subarray(at + separator.length);
    if (rest.length > 0) this.#response.write(rest);
  }

  /** Ends the response, or cuts it off if the function has failed in the middle. */
  end(ok: boolean): void {
    if (ok) this.#response.end();
    else this.#response.destroy();
  }
}
