// Handlers of the routes for people and operators, and of batches. `routes.ts` loads them at the first request for one of
// them.

export * as batches from './batch-routes.js';
export * as inputs from './question-routes.js';
export * as keys from './key-routes.js';
export * as remoteTasks from './remote-task-routes.js';
export * as schedules from './schedule-routes.js';
export * as servers from './server-routes.js';
