import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Outwait } from './outwait.js';
import { propsOf, type Settings } from './settings.js';

/** A stack of one app and nothing else, whose outputs say where its API is and which secret holds the management token. */
export class OutwaitStack extends Stack {
  readonly outwait: Outwait;

  /** @throws EngineError `CONFIG_INVALID` */
  constructor(scope: Construct, settings: Settings) {
    super(scope, settings.stackName ?? 'Outwait', {
      description: 'outwait: durable workflows that wait on remote tasks',
    });
    this.outwait = new Outwait(this, 'Outwait', propsOf(this, settings));
    const { api, domain, managementToken, table } = this.outwait;
    new CfnOutput(this, 'ApiUrl', { value: api.apiEndpoint });
    new CfnOutput(this, 'TableName', { value: table.tableName });
    if (managementToken !== undefined) {
      new CfnOutput(this, 'ManagementTokenSecret', { value: managementToken.secretArn });
    }
    if (domain !== undefined) {
      new CfnOutput(this, 'DomainTarget', { value: domain.regionalDomainName });
      new CfnOutput(this, 'DomainHostedZoneId', { value: domain.regionalHostedZoneId });
    }
  }
}
