import type { Mutant } from './mutant.js';

export const endingMutants: readonly Mutant[] = [];
