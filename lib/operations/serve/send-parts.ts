// What takes messages of callers, loaded together on demand (tasks.ts).

export { admitMessage } from './caps.js';
export { followUp } from './follow-up.js';
export { startTask } from './start-task.js';
