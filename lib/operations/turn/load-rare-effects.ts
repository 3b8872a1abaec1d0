import { lazy } from '../../base/lazy.js';

/**
 * Needed when a run goes on as another one, asks for a long step, or answers a server: most turns begin sooner without it.
 */
export const loadRareEffects = lazy(() => import('./rare-effects.js'));
