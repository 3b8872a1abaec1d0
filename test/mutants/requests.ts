import type { Mutant } from './mutant.js';

export const requestsMutants: readonly Mutant[] = [];
