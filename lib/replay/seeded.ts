/** Random numbers of one run: the same sequence on every replay, unrelated to those of other runs. Not for secrets. */
export interface SeededRandom {
  /** Uniform in [0, 1). */
  fraction(): number;
  uuid(): string;
}

/**
 * Creates the random numbers of a run: digests of the seed in its head and the position of the number. `digest` returns
 * SHA-256 in hex.
 */
export function seededRandom(seed: string, digest: (text: string) => string): SeededRandom {
  let position = 0;
  const next = (): string => digest(`${seed}/${position++}`);
  return {
    // 52 bits: every value is a double, and the largest is below 1.
    fraction: () => Number.parseInt(next().slice(0, 13), 16) / 2 ** 52,
    uuid: () => {
      const hex = next();
      const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
    },
  };
}
