// `outwait/cdk`: the exports for CDK apps. Needs aws-cdk-lib and constructs, which are not installed with the package.

export { Outwait } from './outwait.js';
export type { OutwaitFunctions } from './functions.js';
export type { OutwaitQueues } from './queues.js';
export type { OutwaitServeApi } from './serve-api.js';
export type { OutwaitAliases } from './rollout.js';
export type { FunctionName, QueueName } from '../lib/topology/topology.js';
export type { OutwaitAuthorizer, OutwaitFunctionProps, OutwaitProps, OutwaitRollout, OutwaitServe } from './props.js';
