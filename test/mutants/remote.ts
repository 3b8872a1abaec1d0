import type { Mutant } from './mutant.js';

export const remoteMutants: readonly Mutant[] = [];
