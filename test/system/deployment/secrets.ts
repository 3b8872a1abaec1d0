import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { arnOf } from './account.js';
import type { Identities } from './identities.js';
import type { StackResources } from './stack-resources.js';

const secretProperties = z.strictObject({
  GenerateSecretString: z.strictObject({ PasswordLength: z.int(), ExcludePunctuation: z.literal(true) }),
});

/** Values in Secrets Manager and Systems Manager that exist before the stack, by name. */
export interface Kept {
  readonly secrets?: Readonly<Record<string, string>>;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** Secrets and parameters of the account. */
export class Secrets {
  readonly #byArn = new Map<string, string>();
  readonly #arns = new Map<string, string>();
  readonly #parameters: ReadonlyMap<string, string>;

  constructor(resources: StackResources, identities: Identities, { secrets = {}, parameters = {} }: Kept) {
    for (const { logicalId, properties } of resources.take('AWS::SecretsManager::Secret', secretProperties)) {
      const arn = identities.ref(logicalId);
      this.#byArn.set(arn, lettersAndDigits(properties.GenerateSecretString.PasswordLength));
    }
    for (const [name, text] of Object.entries(secrets)) {
      // Secrets Manager adds six characters to the name.
      const arn = arnOf('secretsmanager', `secret:${name}-a1B2c3`);
      this.#byArn.set(arn, text);
      this.#arns.set(name, arn);
    }
    this.#parameters = new Map(Object.entries(parameters));
  }

  /** Returns an ARN by name or ARN; of a missing secret, the ARN that it could have. */
  arnOf(secretId: string): string {
    return (
      this.#arns.get(secretId) ??
      (secretId.startsWith('arn:') ? secretId : arnOf('secretsmanager', `secret:${secretId}`))
    );
  }

  read(arn: string): string | undefined {
    return this.#byArn.get(arn);
  }

  readParameter(name: string): string | undefined {
    return this.#parameters.get(name);
  }
}

function lettersAndDigits(length: number): string {
  const all = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length }, () => all.charAt(randomInt(all.length))).join('');
}
