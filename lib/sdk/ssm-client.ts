// Separate module, so that a bundle holds only these two of the client's hundreds of parts although it is loaded late.
export { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
