import { late } from '../../base/late.js';

/**
 * Needed when a run goes on as another one, asks for a long step, or answers a server: most turns begin sooner without it.
 */
export const loadRareEffects = late(() => import('./rare-effects.js'));
