import { lazy } from '../../base/lazy.js';

/** Loads what continuing as a new run, long steps and answers to servers need: most turns start faster without it. */
export const loadRareEffects = lazy(() => import('./rare-effects.js'));
