import type { Mutant } from './mutant.js';

export const namesMutants: readonly Mutant[] = [];
