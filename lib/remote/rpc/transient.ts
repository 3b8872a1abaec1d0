/** Whether a status means a failure that may pass, so that reads and other safe requests are retried. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}
