import type { Mutant } from './mutant.js';

export const untestedMutants: readonly Mutant[] = [];
