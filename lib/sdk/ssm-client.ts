// A module of its own, so that a bundle takes in these two of the client's hundreds of parts although it is loaded late.
export { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
