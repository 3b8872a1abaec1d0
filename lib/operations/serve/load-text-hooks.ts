import { lazy } from '../../base/lazy.js';

/** Loads the hooks for texts, which few apps have. */
export const loadTextHooks = lazy(() => import('./text-hooks.js'));
