import { Aws, CfnOutput, Stack } from 'aws-cdk-lib';
import type { Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { Outwait } from './outwait.js';
import { propsOf, type Settings } from './settings.js';

/** A stack of just one app, with outputs for its users and operators. */
export class OutwaitStack extends Stack {
  readonly outwait: Outwait;

  /**
   * Creates the stack.
   * @throws EngineError `CONFIG_INVALID`
   */
  constructor(scope: Construct, settings: Settings) {
    super(scope, settings.stackName ?? 'Outwait', {
      description: 'outwait: durable workflows that wait on remote tasks',
    });
    this.outwait = new Outwait(this, 'Outwait', propsOf(this, settings));
    const { api, dashboard, deadLetters, domain, managementToken, queues, served, table, tokenKeys } = this.outwait;
    this.#tell({
      ApiUrl: api.apiEndpoint,
      ServeUrl: served?.url,
      TableName: table.tableName,
      TokenKeysSecret: tokenKeys.secretArn,
      ManagementTokenSecret: managementToken?.secretArn,
      // Includes the queues for `outwait redrive`, which takes the first five and finds the dead letters itself.
      TurnQueueUrl: queues.turn.queueUrl,
      WorkQueueUrl: queues.work.queueUrl,
      StepQueueUrl: queues.step.queueUrl,
      StartQueueUrl: queues.start.queueUrl,
      SlowQueueUrl: queues.slow.queueUrl,
      TurnDeadLettersUrl: deadLetters.turn.queueUrl,
      WorkDeadLettersUrl: deadLetters.work.queueUrl,
      StepDeadLettersUrl: deadLetters.step.queueUrl,
      StartDeadLettersUrl: deadLetters.start.queueUrl,
      SlowDeadLettersUrl: deadLetters.slow.queueUrl,
      SweepDeadLettersUrl: deadLetters.sweep.queueUrl,
      DashboardName: dashboard?.dashboardName,
      DashboardUrl: dashboard && urlOf(dashboard),
      DomainTarget: domain?.regionalDomainName,
      DomainHostedZoneId: domain?.regionalHostedZoneId,
      ServeDomainTarget: served?.domain?.domainNameAliasDomainName,
      ServeDomainHostedZoneId: served?.domain?.domainNameAliasHostedZoneId,
    });
  }

  #tell(outputs: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(outputs)) {
      if (value !== undefined) new CfnOutput(this, name, { value });
    }
  }
}

function urlOf({ dashboardName }: Dashboard): string {
  const { REGION: region } = Aws;
  return `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboardName}`;
}
