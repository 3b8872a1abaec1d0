// Effects that few commits need, loaded together on demand (load-rare-effects.ts).

export { answerRemote } from '../remote-task/answer-remote.js';
export { hastenLongStep, requestLongStep } from '../steps/request-long-step.js';
export { startNextRun } from './next-run.js';
