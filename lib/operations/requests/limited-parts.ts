// Parts that only starts of workflows with limits need, loaded together on demand (start-run.ts).

export { startDebounced } from './debounced-start.js';
export { createLimited, putLimited } from './limited-start.js';
