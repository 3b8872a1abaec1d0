import { vi } from 'vitest';

/** Repeats `check` until it passes; fails with its last error after 20 s, which is enough on a busy machine. */
export function eventually(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 20_000 });
}
