import type { Mutant } from './mutant.js';

export const itemsMutants: readonly Mutant[] = [];
