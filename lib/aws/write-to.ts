import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Writes, and waits until the stream takes more or is closed. */
export async function writeTo(stream: Writable, bytes: string | Uint8Array): Promise<void> {
  if (stream.destroyed || stream.write(bytes)) return;
  // Ends the wait for the other event: a long stream would gather its listeners.
  const over = new AbortController();
  const came = async (event: string): Promise<void> => {
    await once(stream, event, { signal: over.signal }).catch(() => undefined);
  };
  await Promise.race([came('drain'), came('close')]);
  over.abort();
}
