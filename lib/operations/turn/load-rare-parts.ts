import { late } from '../../base/late.js';

/** Needed when a turn has failed, its run cannot go on, or waits for the end of another one: most begin sooner without it. */
export const loadRareParts = late(() => import('./rare-parts.js'));
