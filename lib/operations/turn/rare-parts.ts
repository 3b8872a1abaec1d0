// What few turns need. Loaded as one part when it is needed (load-rare-parts.ts).

export { nextLookAtMs } from '../requests/replaced-run.js';
export { failedTurn } from './failed-turn.js';
export { park } from './park.js';
