/** Headers as they came: names in any case, and a list where a header came more than once. */
export type InboundHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request whose sender is not known yet. */
export interface InboundRequest {
  readonly headers: InboundHeaders;
  /** The bytes that the sender signed, exactly as they came. */
  readonly body: Uint8Array;
  /** When it came. */
  readonly atMs: number;
}

/** Longest value of a header that is looked at. */
const headerMaxChars = 4_096;

/** Returns the only value of a header; undefined if there is none, or more than one. */
export function headerOf(headers: InboundHeaders, name: string): string | undefined {
  const found = Object.entries(headers).filter(([given, value]) => given.toLowerCase() === name && value !== undefined);
  const [value] = found.map(([, given]) => given);
  return found.length === 1 && typeof value === 'string' && value.length <= headerMaxChars ? value : undefined;
}
