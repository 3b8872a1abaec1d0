import { lazy } from '../../base/lazy.js';

/**
 * Loads what failed turns, blocked runs, runs that wait for others and runs that continue as new ones need: most turns
 * start faster without it.
 */
export const loadRareParts = lazy(() => import('./rare-parts.js'));
