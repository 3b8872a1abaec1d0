/** Creates a response of JSON that is not cached. */
export function jsonResponse(
  status: number,
  body: unknown,
  {
    mediaType = 'application/json',
    headers = {},
  }: { mediaType?: string; headers?: Readonly<Record<string, string>> } = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'content-type': mediaType,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  });
}
