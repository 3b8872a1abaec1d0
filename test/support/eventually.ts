import { vi } from 'vitest';

/** Repeats `check` until it passes; fails with its last error when a busy machine has had 20 s. */
export function eventually(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 20_000 });
}
