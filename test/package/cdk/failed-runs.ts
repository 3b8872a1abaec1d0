import { type App, Stack } from 'aws-cdk-lib';
import { EventBus, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Outwait } from 'outwait/cdk';

/** The example of docs/deploy.md. */
export function addFailedRuns(app: App): Stack {
  const stack = new Stack(app, 'FailedRuns');
  const bus = new EventBus(stack, 'Bus');
  new Outwait(stack, 'Outwait', { app: './examples/outwait.config.ts', eventBus: bus });
  new Rule(stack, 'OnFailure', {
    eventBus: bus,
    eventPattern: { source: ['outwait'], detailType: ['RunFailed'], detail: { workflow: ['monthlyReport'] } },
    targets: [new SnsTopic(new Topic(stack, 'Failures'), { message: RuleTargetInput.fromEventPath('$.detail') })],
  });
  return stack;
}
