import { lazy } from '../../base/lazy.js';

/** Needed when a turn has failed, its run cannot go on, or waits for the end of another one: most begin sooner without it. */
export const loadRareParts = lazy(() => import('./rare-parts.js'));
