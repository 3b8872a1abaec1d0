// A module of its own, so that a bundle takes in these two parts of the client only although it is loaded late.
export { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
