import { z } from 'zod';
import type { Identities } from './identities.js';
import type { Need } from './rights.js';
import { ignored, type StackResources } from './stack-resources.js';

// Logs are never deleted here.
const logGroupProperties = z.strictObject({ RetentionInDays: ignored });

/** Returns the rights that Lambda needs to write the log of a function. */
export function logGroupsOf(resources: StackResources, identities: Identities) {
  const arns = new Map(
    resources
      .take('AWS::Logs::LogGroup', logGroupProperties)
      .map(({ logicalId }) => [identities.ref(logicalId), identities.attribute(logicalId, 'Arn')]),
  );
  return (group: string, stream: string, action: 'logs:CreateLogStream' | 'logs:PutLogEvents'): Need => {
    const arn = arns.get(group);
    if (arn === undefined) throw new Error(`there is no log group ${group}`);
    return { action, resource: arn.replace(/\*$/, `log-stream:${stream}`) };
  };
}
