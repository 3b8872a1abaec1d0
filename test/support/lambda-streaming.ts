import type { Writable } from 'node:stream';

/** Marks a handler that writes its response to a stream. */
const streams = Symbol.for('aws.lambda.runtime.handler.streaming');

export type StreamedHandler = (event: unknown, stream: Writable, context: unknown) => Promise<unknown>;
type WriteFirst = (bytes: Uint8Array) => void;
type Prefixed = Writable & { onBeforeFirstWrite?: (write: WriteFirst) => void };

/** Creates the global that the Node runtime of Lambda has for handlers that stream. */
export function installStreaming(): void {
  Object.assign(globalThis, {
    awslambda: {
      streamifyResponse: (handler: StreamedHandler) => Object.assign(handler, { [streams]: 'response' }),
      HttpResponseStream: {
        from: (stream: Prefixed, head: object) => {
          stream.onBeforeFirstWrite = (write) => {
            write(Buffer.from(JSON.stringify(head)));
            write(new Uint8Array(8));
          };
          return stream;
        },
      },
    },
  });
}

export function isStreamed(handler: object): boolean {
  return (handler as { [streams]?: string })[streams] === 'response';
}

/**
 * Prepares a stream for a handler: status and headers go out before the first byte that is written, and, as on Lambda, not
 * at all if the stream ends without one.
 */
export function prepared(stream: Writable): Writable {
  const prefixed = stream as Prefixed;
  const write = stream.write.bind(stream);
  stream.write = ((...given: Parameters<Writable['write']>) => {
    const before = prefixed.onBeforeFirstWrite;
    delete prefixed.onBeforeFirstWrite;
    before?.((bytes) => void write(bytes));
    return write(...given);
  }) as Writable['write'];
  return stream;
}
