/**
 * Returns what is aborted when the client of a request has left, or when the answer has ended by itself. It holds the
 * request: Node passes an abort on to a request only while something else does.
 */
export function stopOf(request: Request): AbortController {
  const stop = new AbortController();
  const end = (): void => {
    stop.abort();
  };
  stop.signal.addEventListener('abort', () => {
    request.signal.removeEventListener('abort', end);
  });
  if (request.signal.aborted) end();
  else request.signal.addEventListener('abort', end);
  return stop;
}
