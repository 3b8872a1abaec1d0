// A program: does what the runtime of Lambda does around a function. Arguments: the file and the name of the handler in
// it. Receives invocations as messages from the parent, and sends answers to it.

import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { installStreaming, isStreamed, prepared, type StreamedHandler } from '../../support/lambda-streaming.js';
import type { Invocation, ReplicaMessage } from './replica.js';

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

const [file = '', handlerName = ''] = process.argv.slice(2);

function tell(message: ReplicaMessage): void {
  process.send?.(message);
}

function partsTo(take: (message: ReplicaMessage) => void): Writable {
  return new Writable({
    write(bytes: Buffer, _, done) {
      take({ kind: 'part', part: bytes.toString('base64') });
      done();
    },
  });
}

async function answer(handler: Handler, { id, event, deadlineAtMs, context }: Invocation): Promise<void> {
  const getRemainingTimeInMillis = () => deadlineAtMs - Date.now();
  const given = { ...context, awsRequestId: id, getRemainingTimeInMillis };
  try {
    const result: unknown = await (isStreamed(handler)
      ? (handler as StreamedHandler)(event, prepared(partsTo(tell)), given)
      : handler(event, given));
    tell({ kind: 'done', id, result });
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
    tell({ kind: 'failed', id, error: { errorType: name, errorMessage: message, trace: (stack ?? '').split('\n') } });
  }
}

installStreaming();
const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, Handler>>;
const handler = module[handlerName];
if (handler === undefined) throw new Error(`${file} has no ${handlerName}`);
process.on('message', (invocation: Invocation) => {
  void answer(handler, invocation);
});
process.once('disconnect', () => {
  process.exit();
});
tell({ kind: 'ready' });
