import { z } from 'zod';
import type { Identities } from './identities.js';
import type { StackResources } from './stack-resources.js';

/** An action on a resource, by its ARN: the right that a request needs. */
export interface Need {
  readonly action: string;
  readonly resource: string;
}

/** Condition keys, with their values for a request. */
export type RequestContext = Readonly<Record<string, string>>;

const oneOrMany = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());
const statement = z.strictObject({
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMany,
  Resource: oneOrMany,
  Condition: z.record(z.string(), z.record(z.string(), oneOrMany)).default({}),
});
type Statement = z.infer<typeof statement>;
const version = z.literal('2012-10-17');

const policyProperties = z.strictObject({
  PolicyName: z.string(),
  PolicyDocument: z.strictObject({ Version: version, Statement: z.array(statement) }),
  Roles: z.array(z.string()),
});

const roleProperties = z.strictObject({
  AssumeRolePolicyDocument: z.strictObject({
    Version: version,
    Statement: z.array(
      z.strictObject({
        Effect: z.literal('Allow'),
        Action: z.literal('sts:AssumeRole'),
        Principal: z.strictObject({ Service: z.string() }),
      }),
    ),
  }),
});

const queuePolicyProperties = z.strictObject({
  Queues: z.array(z.string()),
  PolicyDocument: z.strictObject({
    Version: version,
    Statement: z.array(
      statement.extend({
        Sid: z.string().optional(),
        Principal: z.union([z.strictObject({ AWS: z.literal('*') }), z.strictObject({ Service: z.string() })]),
      }),
    ),
  }),
});

/** An action of a statement of a role. */
interface GrantedAction {
  readonly role: string;
  readonly action: string;
  readonly statement: Statement;
  uses: number;
}

export interface Grant {
  /** Role, action and resource, in the words of the code. */
  readonly text: string;
  readonly uses: number;
}

/** The caller: a role of the template, or a service of AWS in its own name. */
export type Principal = { readonly role: string } | { readonly service: string };

/** Rights of the roles of a template, and which of them have been used. */
export class Rights {
  readonly #grants: readonly GrantedAction[];
  readonly #roles: ReadonlyMap<string, { readonly name: string; readonly services: readonly string[] }>;
  readonly #ofResources: readonly z.infer<typeof queuePolicyProperties>['PolicyDocument']['Statement'][number][];
  readonly #identities: Identities;

  constructor(resources: StackResources, identities: Identities) {
    this.#identities = identities;
    this.#roles = new Map(
      resources.take('AWS::IAM::Role', roleProperties).map(({ logicalId, properties }) => [
        identities.attribute(logicalId, 'Arn'),
        {
          name: identities.ref(logicalId),
          services: properties.AssumeRolePolicyDocument.Statement.map(({ Principal: principal }) => principal.Service),
        },
      ]),
    );
    this.#grants = resources
      .take('AWS::IAM::Policy', policyProperties)
      .flatMap(({ properties }) =>
        properties.Roles.flatMap((role) =>
          properties.PolicyDocument.Statement.flatMap((granted) =>
            granted.Action.map((action) => ({ role, action, statement: granted, uses: 0 })),
          ),
        ),
      );
    this.#ofResources = resources
      .take('AWS::SQS::QueuePolicy', queuePolicyProperties)
      .flatMap(({ properties }) => properties.PolicyDocument.Statement);
  }

  /** Returns the name of a role that `service` may assume. @throws Error if there is none, or if it may not */
  assume(roleArn: string, service: string): string {
    const role = this.#roles.get(roleArn);
    if (role?.services.includes(service) !== true) throw new Error(`${service} may not take on ${roleArn}`);
    return role.name;
  }

  /** Returns whether the request is allowed. The grant that allows it counts as used. */
  allows(principal: Principal, need: Need, context: RequestContext): boolean {
    const asked = this.#ofResources.filter(
      (found) => isFor(found.Principal, principal) && concerns(found, need, context),
    );
    if (asked.some(({ Effect: effect }) => effect === 'Deny')) return false;
    if ('service' in principal) return asked.length > 0;
    const grants = this.#grants.filter(
      ({ role, action, statement: found }) =>
        role === principal.role && isLike(action, need.action) && concerns(found, need, context),
    );
    if (grants.some(({ statement: { Effect: effect } }) => effect === 'Deny')) return false;
    // A second grant of the same right is superfluous.
    const [first] = grants;
    if (first === undefined) return false;
    first.uses += 1;
    return true;
  }

  /** Returns everything that is granted to roles, with how often it was used. */
  grants(): readonly Grant[] {
    return this.#grants.map(({ role, action, statement: granted, uses }) => ({
      text: this.#identities.described(`${role} ${action} ${granted.Resource.join(',')}`),
      uses,
    }));
  }
}

function concerns(found: Statement, { action, resource }: Need, context: RequestContext): boolean {
  return (
    found.Action.some((pattern) => isLike(pattern, action)) &&
    found.Resource.some((pattern) => isLike(pattern, resource)) &&
    Object.entries(found.Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, values]) => holds(operator, valueOf(context, key), values)),
    )
  );
}

function isFor(found: { readonly AWS: '*' } | { readonly Service: string }, principal: Principal): boolean {
  return 'AWS' in found || ('service' in principal && found.Service === principal.service);
}

function valueOf(context: RequestContext, key: string): string {
  const value = context[key];
  if (value === undefined) throw new Error(`the condition key ${key} is not known here`);
  return value;
}

function holds(operator: string, value: string, wanted: readonly string[]): boolean {
  switch (operator) {
    case 'Bool':
    case 'StringEquals':
      return wanted.includes(value);
    case 'ArnEquals':
    case 'ArnLike':
    case 'StringLike':
      return wanted.some((pattern) => isLike(pattern, value));
    default:
      throw new Error(`the condition operator ${operator} is not known here`);
  }
}

/** Returns whether a text matches a pattern in which `*` is any text and `?` any character. */
export function isLike(pattern: string, text: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
}
