import { randomUUID } from 'node:crypto';
import type { ScheduledEvent } from 'aws-lambda';
import { z } from 'zod';
import { account } from './account.js';
import type { AsyncInvocations } from './async-invocations.js';
import type { Identities } from './identities.js';
import type { MayInvoke } from './permissions.js';
import { ignored, type StackResources } from './stack-resources.js';

const ruleProperties = z.strictObject({
  ScheduleExpression: z.string(),
  State: z.enum(['ENABLED', 'DISABLED']),
  Targets: z.array(
    z.strictObject({
      Id: z.string(),
      Arn: z.string(),
      DeadLetterConfig: z.strictObject({ Arn: z.string() }),
      // Lambda accepts an event at once or, if it may not be invoked, never.
      RetryPolicy: ignored,
    }),
  ),
});
type Target = z.infer<typeof ruleProperties>['Targets'][number];

export interface RuleParts {
  readonly identities: Identities;
  readonly mayInvoke: MayInvoke;
  readonly invocations: AsyncInvocations;
  /** Sends an event to a queue in the name of EventBridge. */
  readonly putAside: (queueArn: string, ruleArn: string, event: object) => Promise<void>;
}

/** Runs the rules of a template, at once and then at their rates. Returns a function that stops them. */
export function startRules(resources: StackResources, parts: RuleParts): () => void {
  const timers = resources.take('AWS::Events::Rule', ruleProperties).flatMap(({ logicalId, properties }) => {
    if (properties.State === 'DISABLED') return [];
    const ruleArn = parts.identities.attribute(logicalId, 'Arn');
    const tick = (): void => {
      for (const target of properties.Targets) void hand(target, ruleArn, parts);
    };
    tick();
    return [setInterval(tick, intervalMsOf(properties.ScheduleExpression))];
  });
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

async function hand(target: Target, ruleArn: string, parts: RuleParts): Promise<void> {
  const event = scheduledEvent(ruleArn);
  if (parts.mayInvoke({ service: 'events.amazonaws.com', sourceArn: ruleArn }, target.Arn))
    parts.invocations.put(target.Arn, event);
  else await parts.putAside(target.DeadLetterConfig.Arn, ruleArn, event);
}

const units: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 24 * 3_600_000 };

/** Returns the interval of a rate. @throws Error for any other expression */
export function intervalMsOf(expression: string): number {
  const [, count, unit = ''] = /^rate\((\d+) (\w+?)s?\)$/.exec(expression) ?? [];
  const unitMs = units[unit];
  if (unitMs === undefined) throw new Error(`the schedule ${expression} is not known here`);
  return Number(count) * unitMs;
}

export function scheduledEvent(ruleArn: string): ScheduledEvent {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: account.id,
    // Whole seconds.
    time: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    region: account.region,
    resources: [ruleArn],
    detail: {},
  };
}
