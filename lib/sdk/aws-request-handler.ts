/**
 * Connections of a client. A request without one waits, and its wait counts as a timeout to connect; the default of 50 is
 * less than a burst of callers needs in one process.
 */
const connectionsMax = 512;

/** Returns the request settings of an AWS client: kept-alive connections, and a timeout for each attempt. */
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
    // Makes timeouts fail: by default the SDK only logs a request that takes too long.
    throwOnRequestTimeout: true,
    httpAgent: { keepAlive: true, maxSockets: connectionsMax },
    httpsAgent: { keepAlive: true, maxSockets: connectionsMax },
  };
}
