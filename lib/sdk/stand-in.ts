/**
 * Returns client settings for a stand-in for AWS on this machine, with made-up credentials, or undefined without an
 * endpoint.
 */
export function standIn(endpoint: string | undefined) {
  if (endpoint === undefined) return undefined;
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
}
