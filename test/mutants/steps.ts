import type { Mutant } from './mutant.js';

export const stepsMutants: readonly Mutant[] = [];
