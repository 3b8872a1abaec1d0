// Separate module, so that a bundle holds only these two parts of the client although it is loaded late.
export { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
