import { seeded } from '../random.js';

/** Random choices from one seed. */
export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  /** Returns an integer from `from` to `to`, both included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)]!;
  }

  /** Returns one of the keys, each with a probability in proportion to its number. */
  weighed<Key extends string>(weights: Readonly<Record<Key, number>>): Key {
    const entries = Object.entries(weights) as [Key, number][];
    let left = this.#random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) if ((left -= weight) < 0) return key;
    return entries[0]![0];
  }

  /** Returns any integer of 32 bits. */
  seed(): number {
    return Math.floor(this.#random() * 2 ** 31);
  }
}
