// Handlers of the routes for people and operators. `routes.ts` loads them at the first request for one of them.

export * as inputs from './question-routes.js';
export * as remoteTasks from './remote-task-routes.js';
export * as schedules from './schedule-routes.js';
export * as servers from './server-routes.js';
