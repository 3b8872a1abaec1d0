/** Longest id of a request, and longest token of progress: each event of a stream repeats them. */
export const rpcIdMaxChars = 1_024;

/** Whether a value can be the id of a JSON-RPC request. */
export function isRpcId(value: unknown): value is string | number {
  return typeof value === 'string' ? value.length <= rpcIdMaxChars : Number.isInteger(value);
}
