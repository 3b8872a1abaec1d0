/** How a client of AWS sends its requests: with connections that are kept, and an end to each attempt. */
export function awsRequestHandler({
  connectMs,
  requestMs,
}: {
  readonly connectMs: number;
  readonly requestMs: number;
}) {
  return {
    connectionTimeout: connectMs,
    requestTimeout: requestMs,
    // Without it the SDK only logs a request that takes too long.
    throwOnRequestTimeout: true,
    httpAgent: { keepAlive: true },
    httpsAgent: { keepAlive: true },
  };
}
