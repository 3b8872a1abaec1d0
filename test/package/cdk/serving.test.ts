import { Stack } from 'aws-cdk-lib';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { Outwait } from '../../../cdk/outwait.js';
import type { OutwaitServe } from '../../../cdk/props.js';
import { parseSettings } from '../../../cdk/settings.js';
import { anApp, resourceOf, statementsOf, synthesize } from './synthesis.js';

const config = 'examples/outwait.config.ts';
const keys = { access: { kind: 'keys' } } as const;
const iam = { access: { kind: 'iam' } } as const;

interface Method {
  readonly Properties: { readonly AuthorizationType: string; readonly ResourceId: { readonly Ref: string } };
}

/** Returns how callers are checked, by the path of the resource. */
function accessOf(template: Template): Readonly<Record<string, string>> {
  const resources = template.findResources('AWS::ApiGateway::Resource') as Record<
    string,
    { readonly Properties: { readonly ParentId: { readonly Ref?: string }; readonly PathPart: string } }
  >;
  const pathOf = (id: string): string => {
    const { ParentId, PathPart } = resources[id]!.Properties;
    return `${ParentId.Ref === undefined ? '' : pathOf(ParentId.Ref)}/${PathPart}`;
  };
  const methods = Object.values(template.findResources('AWS::ApiGateway::Method')) as Method[];
  return Object.fromEntries(
    methods.map(({ Properties }) => [pathOf(Properties.ResourceId.Ref), Properties.AuthorizationType]),
  );
}

describe('served workflows of a stack', () => {
  test('have neither a function nor an API where they are not set', () => {
    for (const settings of [{}, { serve: false }]) {
      const { template, outwait } = synthesize(settings);
      expect([outwait.functions.serve, outwait.served]).toEqual([undefined, undefined]);
      template.resourceCountIs('AWS::ApiGateway::RestApi', 0);
      template.resourceCountIs('AWS::Lambda::Function', 5);
    }
  });

  test('are streamed for up to 15 minutes by a regional API, with a log that has no path', () => {
    const { template } = synthesize({ serve: keys });
    template.hasResourceProperties('AWS::ApiGateway::RestApi', { EndpointConfiguration: { Types: ['REGIONAL'] } });
    template.allResourcesProperties('AWS::ApiGateway::Method', {
      HttpMethod: 'ANY',
      Integration: { ResponseTransferMode: 'STREAM', TimeoutInMillis: 900_000, Type: 'AWS_PROXY' },
    });
    template.hasResourceProperties('AWS::Lambda::Function', { Timeout: 900, MemorySize: 256 });
    const stages = Object.values(template.findResources('AWS::ApiGateway::Stage')) as {
      readonly Properties: { readonly AccessLogSetting: { readonly Format: string } };
    }[];
    expect(stages).toHaveLength(1);
    expect(stages[0]!.Properties.AccessLogSetting.Format).toContain('$context.resourcePath');
    expect(stages[0]!.Properties.AccessLogSetting.Format).not.toMatch(/\$context\.(path|protocol|request\.)/);
  });

  test('tell clients to come back where Lambda takes no more, and how to prove who they are', () => {
    const { template } = synthesize({ serve: keys });
    template.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: 'INTEGRATION_FAILURE',
      StatusCode: '503',
      ResponseParameters: { 'gatewayresponse.header.Retry-After': "'5'" },
    });
    template.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: 'UNAUTHORIZED',
      StatusCode: '401',
      ResponseParameters: { 'gatewayresponse.header.WWW-Authenticate': "'Bearer'" },
    });
  });

  test('check keys themselves; with IAM the gateway checks all but the cards', () => {
    expect(accessOf(synthesize({ serve: keys }).template)).toEqual({ '/{proxy+}': 'NONE' });
    const { template } = synthesize({ serve: iam });
    expect(accessOf(template)).toEqual({
      '/{proxy+}': 'AWS_IAM',
      '/agents/{skill}/{proxy+}': 'AWS_IAM',
      '/mcp': 'AWS_IAM',
      '/mcp/server-card': 'NONE',
      '/.well-known/{proxy+}': 'NONE',
      '/agents/{skill}/.well-known/{proxy+}': 'NONE',
    });
    const readsToken = (of: Template) => statementsOf(of, 'OutwaitServeFunction').map(resourceOf).join(' ');
    expect(readsToken(template)).not.toContain('ManagementToken');
    expect(readsToken(synthesize({ serve: keys }).template)).toContain('ManagementToken');
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 900,
      Environment: { Variables: Match.objectLike({ OUTWAIT_MANAGEMENT_ACCESS: 'authorizer' }) },
    });
  });

  test('take a domain without a path, a web ACL, a length of streams, a cap, and the log role of the account', () => {
    const webAclArn = 'arn:aws:wafv2:eu-west-1:111111111111:regional/webacl/agents/1';
    const certificateArn = 'arn:aws:acm:eu-west-1:111111111111:certificate/1';
    const { template } = synthesize({
      serve: {
        ...{ ...keys, webAclArn, streamSeconds: 600, accountLogRole: false },
        domain: { name: 'agents.example.com', certificateArn },
      },
      functions: { serve: { reservedConcurrency: 50 } },
    });
    const mappings = Object.values(template.findResources('AWS::ApiGateway::BasePathMapping'));
    expect(mappings.map(({ Properties }) => Object.keys(Properties as object).sort())).toEqual([
      ['DomainName', 'RestApiId', 'Stage'],
    ]);
    template.hasResourceProperties('AWS::WAFv2::WebACLAssociation', { WebACLArn: webAclArn });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 900,
      ReservedConcurrentExecutions: 50,
      Environment: {
        Variables: Match.objectLike({
          OUTWAIT_SERVE_URL: 'https://agents.example.com',
          OUTWAIT_STREAM_SECONDS: '600',
        }),
      },
    });
    // The poller signs pushes, in the name of the agent whose keys are at this URL.
    const told = Object.entries(template.findResources('AWS::Lambda::Function')).filter(([, { Properties }]) =>
      JSON.stringify(Properties).includes('OUTWAIT_SERVE_URL'),
    );
    expect(told.map(([id]) => /Outwait(Poll|Serve)Function/.exec(id)?.[1]).sort()).toEqual(['Poll', 'Serve']);
    template.hasOutput('ServeUrl', { Value: 'https://agents.example.com' });
    template.resourceCountIs('AWS::ApiGateway::Account', 0);
    synthesize({ serve: keys }).template.resourceCountIs('AWS::ApiGateway::Account', 1);
  });

  test('have an alarm for callers that are turned away, and are part of a rollout', () => {
    synthesize({ serve: keys }).template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'Throttles',
      AlarmDescription: Match.stringLikeRegexp('docs/operations.md#serve-throttles'),
    });
    const { template, outwait } = synthesize({ serve: keys, rollout: { kind: 'canary', percent: 10, minutes: 5 } });
    expect(outwait.aliases?.serve).toBeDefined();
    template.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', 6);
  });

  test.each([
    [{ serve: {} as OutwaitServe }, 'serve.access must say who may call the served workflows'],
    [{ serve: { ...keys, streamSeconds: 900 } }, 'serve.streamSeconds must be a whole number from 10 to 840'],
    [{ functions: { serve: { memoryMb: 512 } } }, 'functions.serve has no effect without serve'],
    [{ serve: keys, functions: { serve: { maxConcurrency: 5 } } }, 'functions.serve.maxConcurrency has no effect'],
  ])('%j is refused', (props, message) => {
    expect(() => new Outwait(new Stack(anApp()), 'Outwait', { app: config, ...props })).toThrow(message);
  });

  test.each([
    [{ serve: true }, 'outwait.serve: '],
    [{ serve: {} }, 'outwait.serve'],
    [{ serve: { ...keys, webAclArn: 'arn:aws:wafv2:us-east-1:111111111111:global/webacl/a/1' } }, 'outwait.serve'],
  ])('the settings %j are refused', (settings, named) => {
    expect(() => parseSettings({ app: config, ...settings })).toThrow(named);
  });
});
