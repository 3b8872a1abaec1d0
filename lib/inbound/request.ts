/** Headers as received: names in any case, and a list if a header came more than once. */
export type InboundHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request whose sender is not verified yet. */
export interface InboundRequest {
  readonly headers: InboundHeaders;
  /** Body exactly as received: these bytes are signed. */
  readonly body: Uint8Array;
  /** Time of arrival. */
  readonly atMs: number;
  /** Our URL that the request was sent to, for tokens that name it. Not from the Host header, which a sender chooses. */
  readonly audience?: string;
}

/** Longest value of a header that is read. */
const headerMaxChars = 4_096;

/** Returns the only value of a header; undefined if there is none, or more than one. */
export function headerOf(headers: InboundHeaders, name: string): string | undefined {
  const found = Object.entries(headers).filter(([given, value]) => given.toLowerCase() === name && value !== undefined);
  const [value] = found.map(([, given]) => given);
  return found.length === 1 && typeof value === 'string' && value.length <= headerMaxChars ? value : undefined;
}
