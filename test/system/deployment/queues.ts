import type { FauxqsServer } from 'fauxqs';
import { z } from 'zod';
import { account } from './account.js';
import type { Identities } from './identities.js';
import type { StackResources } from './stack-resources.js';

const queueProperties = z.strictObject({
  FifoQueue: z.boolean().optional(),
  VisibilityTimeout: z.int().optional(),
  MessageRetentionPeriod: z.int().optional(),
  RedrivePolicy: z.strictObject({ deadLetterTargetArn: z.string(), maxReceiveCount: z.int() }).optional(),
});

export interface Queue {
  readonly name: string;
  /** URLs of the queue for the deployment, and for the stand-in. */
  readonly url: string;
  readonly standInUrl: string;
  readonly arn: string;
  readonly visibilityS: number;
}

/** Visibility timeout of a queue that sets none. */
const visibilityDefaultS = 30;

/** Creates the queues of a template. */
export function createQueues(resources: StackResources, identities: Identities, sqs: FauxqsServer): readonly Queue[] {
  const queues = resources.take('AWS::SQS::Queue', queueProperties);
  const arns = new Set<string>(queues.map(({ logicalId }) => identities.attribute(logicalId, 'Arn')));
  return queues.map(({ logicalId, properties }) => {
    const { RedrivePolicy: redrive, ...others } = properties;
    if (redrive !== undefined && !arns.has(redrive.deadLetterTargetArn))
      throw new Error(`${logicalId} leads to a dead-letter queue that is not there`);
    const name = identities.attribute(logicalId, 'QueueName');
    const attributes = {
      ...Object.fromEntries(Object.entries(others).map(([key, value]) => [key, String(value)])),
      ...(redrive === undefined ? {} : { RedrivePolicy: JSON.stringify(redrive) }),
    };
    const { queueUrl, queueArn } = sqs.createQueue(name, { region: account.region, attributes });
    const arn = identities.attribute(logicalId, 'Arn');
    if (queueArn !== arn) throw new Error(`the queue ${arn} has become ${queueArn}`);
    return {
      name,
      url: identities.ref(logicalId),
      standInUrl: queueUrl,
      arn,
      visibilityS: properties.VisibilityTimeout ?? visibilityDefaultS,
    };
  });
}
