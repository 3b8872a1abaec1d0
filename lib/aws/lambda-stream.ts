import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { ResponseStream, ServeHandler } from './serve-handler.js';
import type { InvocationContext } from './turn-handler.js';
import { writeTo } from './write-to.js';

/** Time before the function's own at which what is still streamed is told to end. */
const marginMs = 5_000;

type StreamedHandler = ReturnType<typeof awslambda.streamifyResponse<APIGatewayProxyEvent>>;

/**
 * Returns a handler for Lambda that sends the response as it is written. Lambda does not say when the client has left, so
 * only the end of the response or of the function's time ends an invocation.
 */
export function streamedHandler(serve: ServeHandler): StreamedHandler {
  return awslambda.streamifyResponse<APIGatewayProxyEvent>(async (event, stream, context) => {
    const over = timeOver(context);
    try {
      await serve(withoutConditions(event), streamTo(stream), over.signal);
    } finally {
      over.cancel();
    }
  });
}

function timeOver({ getRemainingTimeInMillis }: InvocationContext): {
  readonly signal: AbortSignal;
  cancel(): void;
} {
  const controller = new AbortController();
  const timer = setTimeout(
    () => {
      controller.abort();
    },
    Math.max(0, getRemainingTimeInMillis() - marginMs),
  );
  return {
    signal: controller.signal,
    cancel: () => {
      clearTimeout(timer);
    },
  };
}

/** Removes the condition under which a response has no body: a streamed response without one never ends. */
function withoutConditions(event: APIGatewayProxyEvent): APIGatewayProxyEvent {
  const multiValueHeaders = Object.fromEntries(
    Object.entries(event.multiValueHeaders).filter(([name]) => name.toLowerCase() !== 'if-none-match'),
  );
  return { ...event, multiValueHeaders };
}

/** Writes to the stream of an invocation. Lambda sends the status with the first bytes. */
function streamTo(raw: Writable): ResponseStream {
  let stream = raw;
  return {
    start(head) {
      stream = awslambda.HttpResponseStream.from(raw, { ...head });
    },
    async write(bytes) {
      await writeTo(stream, bytes);
    },
    async end() {
      await new Promise<void>((resolve) => {
        stream.once('close', resolve);
        stream.end(resolve);
      });
    },
  };
}
