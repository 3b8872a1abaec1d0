import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import { parseSettings } from '../../../cdk/settings.js';
import { OutwaitStack } from '../../../cdk/stack.js';

interface Report {
  readonly pluginReports: readonly {
    readonly pluginName: string;
    readonly violations: readonly unknown[];
    readonly suppressedViolations: readonly { readonly ruleName: string; readonly reason: string }[];
  }[];
}

test('what cdk-nag finds is acknowledged, each with its reason, also with all that can be set', () => {
  const outdir = mkdtempSync(join(tmpdir(), 'outwait-nag-'));
  try {
    const app = new App({ outdir, context: { 'aws:cdk:bundling-stacks': [] } });
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    const plain = parseSettings({ stackName: 'Plain' }, 'examples/outwait.config.ts');
    new OutwaitStack(app, plain);
    new OutwaitStack(app, {
      ...plain,
      stackName: 'Set',
      authorizer: { kind: 'iam' },
      serve: { access: { kind: 'iam' } },
      secrets: ['prod/reports'],
      parameters: ['/prod/reports/key'],
      vpc: { id: 'vpc-11111111', subnetIds: ['subnet-11111111'], availabilityZones: ['eu-west-1a'] },
    });
    new OutwaitStack(app, { ...plain, stackName: 'Serving', serve: { access: { kind: 'keys' } } });
    new OutwaitStack(app, { ...plain, stackName: 'Rollout', rollout: { kind: 'canary', percent: 10, minutes: 15 } });
    app.synth();
    const { pluginReports } = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8')) as Report;
    // Includes the findings of CloudFormation's own schemas.
    expect(pluginReports.flatMap(({ violations }) => violations)).toEqual([]);
    const report = pluginReports.find(({ pluginName }) => pluginName === 'AwsSolutions')!;
    const rules = report.suppressedViolations.map(({ ruleName }) => ruleName.replace(/\[.*$/, ''));
    expect([...new Set(rules)].sort()).toEqual([
      'AwsSolutions-APIG2',
      'AwsSolutions-APIG3',
      'AwsSolutions-APIG4',
      'AwsSolutions-APIG6',
      'AwsSolutions-COG4',
      'AwsSolutions-IAM4',
      'AwsSolutions-IAM5',
      'AwsSolutions-SMG4',
      'AwsSolutions-SQS3',
    ]);
    expect(report.suppressedViolations.filter(({ reason }) => reason.length < 20)).toEqual([]);
  } finally {
    rmSync(outdir, { recursive: true });
  }
});
