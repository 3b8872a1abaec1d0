/** Settings of a client that leads to a stand-in for AWS on this machine, with made-up credentials; none without an endpoint. */
export function standIn(endpoint: string | undefined) {
  if (endpoint === undefined) return undefined;
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
}
