import { lazy } from '../../base/lazy.js';

/** Loads the sending of notices, which few deployments need. */
export const loadTellPeople = lazy(() => import('./tell-people.js'));
