// Parts that few turns need, loaded together on demand (load-rare-parts.ts).

export { nextLookAtMs } from '../requests/replaced-run.js';
export { tellNextInLane, waitInLane } from './lane-turn.js';
export { failedTurn } from './failed-turn.js';
export { park } from './park.js';
