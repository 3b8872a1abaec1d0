/**
 * Returns `value` as a value of `Mcp-Name`: unchanged if it is visible ASCII and cannot be taken for the wrapped form,
 * else `=?base64?…?=` over its UTF-8 bytes (MCP 2026-07-28, Streamable HTTP, header value encoding). Inner spaces could
 * stay bare; wrapping them too is allowed and survives proxies that fold white space.
 */
export function mcpHeaderValue(value: string): string {
  if (/^[\x21-\x7e]+$/.test(value) && !value.startsWith('=?')) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
