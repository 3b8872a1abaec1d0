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
    httpAgent: { keepAlive: true },
    httpsAgent: { keepAlive: true },
  };
}
