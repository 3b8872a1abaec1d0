import { lazy } from '../../base/lazy.js';

/**
 * Loads what tokens, questions, children, failed turns, blocked runs and runs that wait for others need: most turns start
 * faster without it.
 */
export const loadRareParts = lazy(() => import('./rare-parts.js'));
