// What few commits are followed by. Loaded as one part when it is needed (load-rare-effects.ts).

export { answerRemote } from '../remote-task/answer-remote.js';
export { hastenLongStep, requestLongStep } from '../steps/request-long-step.js';
export { startNextRun } from './next-run.js';
