// `outwait/cdk`: what a CDK app imports. Needs aws-cdk-lib and constructs, which are not installed with the package.

export { Outwait } from './outwait.js';
export type { OutwaitAuthorizer, OutwaitFunctionProps, OutwaitProps, OutwaitRollout } from './props.js';
