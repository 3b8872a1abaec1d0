// Parts that few turns need, loaded together on demand (load-rare-parts.ts).

export { nextLookAtMs } from '../requests/replaced-run.js';
export { waitInLane } from './lane-turn.js';
export { closeDebounce } from './close-debounce.js';
export { failedTurn } from './failed-turn.js';
export { park } from './park.js';
export { issueToken } from './issue-token.js';
export { startChild } from './start-child.js';
