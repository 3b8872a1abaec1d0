import type { AppSecret } from '../lib/aws/app-secrets.js';
import type { FunctionVariables } from './bundle-request.js';

/**
 * Returns the secrets that the functions will lack, by setting, as in `"secrets" lacks prod/reports`. Leaves out what
 * is unknown before the deployment.
 */
export function unreadableSecrets(named: readonly AppSecret[], given: FunctionVariables): readonly string[] {
  const later = given.unknown.map((name) => given.environment[name]).filter((value) => value !== undefined);
  const lacking = { environment: new Set<string>(), secrets: new Set<string>(), parameters: new Set<string>() };
  for (const secret of named) {
    const isKnown = !later.some((value) => secret.name.includes(value));
    if (isKnown && !isGiven(secret, given)) lacking[settings[secret.kind]].add(secret.name);
  }
  return Object.entries(lacking)
    .filter(([, names]) => names.size > 0)
    .map(([setting, names]) => `"${setting}" lacks ${[...names].join(', ')}`);
}

const settings = { environment: 'environment', secretsManager: 'secrets', ssmParameter: 'parameters' } as const;

function isGiven({ kind, name }: AppSecret, { environment, secrets, parameters }: FunctionVariables): boolean {
  switch (kind) {
    case 'environment':
      return Object.hasOwn(environment, name);
    case 'secretsManager':
      return secrets === undefined || secrets.some((given) => nameOfSecret(given) === nameOfSecret(name));
    case 'ssmParameter':
      return parameters === undefined || parameters.some((given) => nameOfParameter(given) === nameOfParameter(name));
  }
}

/** Returns the name for a name or an ARN, to which AWS appends six characters. */
function nameOfSecret(nameOrArn: string): string {
  return nameOrArn.startsWith('arn:')
    ? nameOrArn.replace(/^.*:secret:/, '').replace(/-[A-Za-z0-9]{6}$/, '')
    : nameOrArn;
}

function nameOfParameter(nameOrArn: string): string {
  return nameOrArn.replace(/^arn:.*:parameter\//, '').replace(/^\//, '');
}
