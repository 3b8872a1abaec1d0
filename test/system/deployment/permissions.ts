import { z } from 'zod';
import { isLike } from './rights.js';
import type { StackResources } from './stack-resources.js';

const permissionProperties = z.strictObject({
  Action: z.literal('lambda:InvokeFunction'),
  FunctionName: z.string(),
  Principal: z.string(),
  SourceArn: z.string(),
});

/** Who asks a function by way of its own policy, and on behalf of what. */
export interface Caller {
  readonly service: string;
  readonly sourceArn: string;
}

/** Of a function or an alias, by the ARN that the caller has for it. */
export type MayInvoke = (caller: Caller, reference: string) => boolean;

/** What the policies of the functions of a template say. */
export function permissionsOf(resources: StackResources): MayInvoke {
  const permissions = resources.take('AWS::Lambda::Permission', permissionProperties);
  return ({ service, sourceArn }, reference) =>
    permissions.some(
      ({ properties }) =>
        properties.FunctionName === reference &&
        properties.Principal === service &&
        isLike(properties.SourceArn, sourceArn),
    );
}
