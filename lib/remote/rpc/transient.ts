/** A status of trouble that may pass: what may be repeated, a read above all, is. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}
