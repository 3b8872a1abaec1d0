// A module of its own, so that a bundle takes in these parts of the client only although it is loaded late.
export { DecryptCommand, GenerateDataKeyCommand, KMSClient, KMSServiceException } from '@aws-sdk/client-kms';
