import { z } from 'zod';
import { isLike } from './rights.js';
import type { StackResources } from './stack-resources.js';

const permissionProperties = z.strictObject({
  Action: z.literal('lambda:InvokeFunction'),
  FunctionName: z.string(),
  Principal: z.string(),
  SourceArn: z.string(),
});

/** A caller that the policy of a function allows, and the resource on whose behalf it calls. */
export interface Caller {
  readonly service: string;
  readonly sourceArn: string;
}

/** Returns whether a caller may invoke a function or an alias, by the ARN that the caller uses. */
export type MayInvoke = (caller: Caller, reference: string) => boolean;

/** Reads the policies of the functions of a template. */
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
