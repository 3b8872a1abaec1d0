// Separate module, so that a bundle holds only these parts of the client although it is loaded late.
export { DecryptCommand, GenerateDataKeyCommand, KMSClient, KMSServiceException } from '@aws-sdk/client-kms';
