import { beforeAll, describe, expect, test } from 'vitest';
import { resourceOf, type Statement, synthesize } from './synthesis.js';

// Rules for every resource of a kind, including resources that are added later. They are found by walking the template.

interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly Properties?: Properties;
}
// The parts of CloudFormation's resources that these tests read.
interface Properties {
  readonly [name: string]: unknown;
  readonly FunctionName?: unknown;
  readonly PolicyDocument?: { readonly Statement: readonly Statement[] };
}

const arn = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111111111111:secret:${name}-abcdef`;

describe.each([
  ['by itself', {}],
  [
    'with settings',
    {
      secrets: ['prod/reports', arn('supplier')],
      parameters: ['/prod/reports/key'],
      payloadKeyArn: 'arn:aws:kms:eu-west-1:111111111111:key/1',
      functions: { turn: { maxConcurrency: 40 } },
      environment: { REPORTS_URL: 'https://reports.example.com/mcp' },
      dueShards: 32,
    },
  ],
  ['with a rollout', { rollout: { kind: 'canary', percent: 10, minutes: 15 } }],
] as const)('a stack %s', (_, settings) => {
  let resources: Readonly<Record<string, Resource>>;
  beforeAll(() => {
    resources = synthesize(settings).template.toJSON()['Resources'] as Record<string, Resource>;
  });

  const all = (type: string): readonly (readonly [string, Properties])[] => {
    const found = Object.entries(resources).filter(([, resource]) => resource.Type === type);
    return found.map(([id, { Properties = {} }]) => [id, Properties]);
  };
  const propertiesOf = (id: string): Properties => resources[id]?.Properties ?? {};
  /** Returns the function that an event for this function or alias leads to. */
  const functionOf = (reference: unknown): Properties => {
    const id = idOf(reference);
    return resources[id]?.Type === 'AWS::Lambda::Alias' ? functionOf(propertiesOf(id).FunctionName) : propertiesOf(id);
  };
  const sources = () =>
    all('AWS::Lambda::EventSourceMapping').map(([id, source]) => {
      const queue = propertiesOf(idOf(source['EventSourceArn']));
      const timeoutS = Number(functionOf(source.FunctionName)['Timeout']);
      const windowS = Number(source['MaximumBatchingWindowInSeconds'] ?? 0);
      return { id, source, queue, timeoutS, windowS };
    });

  test('hides a message for longer than its receiver may work on it', () => {
    expect(sources()).toHaveLength(5);
    for (const { id, queue, timeoutS, windowS } of sources()) {
      const visibilityS = Number(queue['VisibilityTimeout']);
      expect(timeoutS, id).toBeGreaterThan(0);
      // The commit fences off a second turn of a run, so the timeout of a turn is as short as possible: it locks its
      // run.
      if (queue['FifoQueue'] === true) expect([id, visibilityS]).toEqual([id, timeoutS + 30]);
      else expect(visibilityS, id).toBeGreaterThanOrEqual(6 * timeoutS + windowS);
    }
  });

  test('gives back single messages of a batch, has a limit of concurrency, and tries five times', () => {
    for (const { id, source, queue } of sources()) {
      expect(source['FunctionResponseTypes'], id).toEqual(['ReportBatchItemFailures']);
      const { MaximumConcurrency } = source['ScalingConfig'] as { readonly MaximumConcurrency: number };
      expect(MaximumConcurrency, id).toBeGreaterThanOrEqual(2);
      const { maxReceiveCount } = queue['RedrivePolicy'] as { readonly maxReceiveCount: number };
      expect(maxReceiveCount, id).toBeGreaterThanOrEqual(5);
    }
  });

  test('loses nothing silently: every queue is one of dead letters or has one, and so have the rule and its function', () => {
    const targets = all('AWS::Events::Rule').flatMap(([, rule]) => rule['Targets'] as readonly Properties[]);
    const failures = all('AWS::Lambda::EventInvokeConfig').map(
      ([, config]) => (config['DestinationConfig'] as { OnFailure?: { Destination: unknown } }).OnFailure?.Destination,
    );
    expect([targets.length, failures.length]).toEqual([1, 1]);
    const deadLetters = new Set([
      ...all('AWS::SQS::Queue').flatMap(([, { RedrivePolicy }]) => {
        const policy = RedrivePolicy as { readonly deadLetterTargetArn: unknown } | undefined;
        return policy === undefined ? [] : [idOf(policy.deadLetterTargetArn)];
      }),
      ...targets.map((target) => idOf((target['DeadLetterConfig'] as { readonly Arn: unknown }).Arn)),
      ...failures.map(idOf),
    ]);
    for (const target of targets)
      expect(target['RetryPolicy']).toEqual({ MaximumEventAgeInSeconds: 120, MaximumRetryAttempts: 2 });
    const without = all('AWS::SQS::Queue').filter(([id, queue]) => !deadLetters.has(id) && !('RedrivePolicy' in queue));
    expect(without).toEqual([]);

    const watched = all('AWS::CloudWatch::Alarm')
      .filter(([, alarm]) => alarm['MetricName'] === 'ApproximateNumberOfMessagesVisible' && alarm['Threshold'] === 0)
      .flatMap(([, alarm]) =>
        (alarm['Dimensions'] as readonly { readonly Value: unknown }[]).map(({ Value }) => Value),
      );
    expect(watched.map(idOf).sort()).toEqual([...deadLetters].sort());
  });

  test('lets its own functions do what is named, with what is named', () => {
    // The roles of a rollout belong to CodeDeploy; its findings are acknowledged with their reasons.
    const isOwn = (id: string): boolean => /Function(Role|ServiceRole)/.test(id);
    const statements = all('AWS::IAM::Policy')
      .filter(([id]) => isOwn(id))
      .flatMap(([, { PolicyDocument }]) => PolicyDocument?.Statement ?? []);
    expect(statements.length).toBeGreaterThan(20);
    for (const statement of statements) {
      expect([statement.Action].flat().filter((name) => name.includes('*'))).toEqual([]);
      expect([statement.Resource].flat()).toHaveLength(1);
      expect(resourceOf(statement)).not.toContain('*');
    }
    for (const [id, role] of all('AWS::IAM::Role').filter(([name]) => isOwn(name))) {
      expect([id, role['Policies'], role['ManagedPolicyArns']]).toEqual([id, undefined, undefined]);
    }
  });

  test('lets a service of AWS do something only for a part of this stack', () => {
    const queueStatements = all('AWS::SQS::QueuePolicy').flatMap(([, { PolicyDocument }]) => PolicyDocument?.Statement);
    const allowed = queueStatements.filter((statement) => statement?.Effect === 'Allow');
    expect(allowed).toHaveLength(1);
    for (const statement of allowed)
      expect(statement).toMatchObject({ Condition: { ArnEquals: { 'aws:SourceArn': expect.anything() as unknown } } });
    const permissions = all('AWS::Lambda::Permission');
    expect(permissions.length).toBeGreaterThan(0);
    for (const [, permission] of permissions)
      expect(permission).toMatchObject({ Action: 'lambda:InvokeFunction', SourceArn: expect.anything() as unknown });
  });

  test('has no secret in a variable, and no value of one in the template', () => {
    for (const [id, user] of all('AWS::Lambda::Function')) {
      const { Variables } = user['Environment'] as { readonly Variables: Readonly<Record<string, unknown>> };
      const texts = Object.entries(Variables).filter(([, value]) => typeof value === 'string');
      const inSettings = ['OUTWAIT_DUE_SHARDS', 'OUTWAIT_PAYLOAD_KMS_KEY', 'REPORTS_URL'];
      expect([id, texts.map(([name]) => name).filter((name) => !inSettings.includes(name))]).toEqual([id, []]);
      expect(
        Object.keys(Variables).filter((name) => /TOKEN|KEYS|SECRET|PASSWORD/.test(name) && !name.endsWith('_SECRET')),
      ).toEqual([]);
    }
    for (const [, secret] of all('AWS::SecretsManager::Secret')) {
      expect(secret).toHaveProperty('GenerateSecretString');
      expect(secret).not.toHaveProperty('SecretString');
    }
    expect(JSON.stringify(resources)).not.toMatch(/\{\{resolve:/);
  });

  test('keeps the log of each function, says what a loop is to do, and keeps what it keeps also when it is replaced', () => {
    for (const [id, user] of all('AWS::Lambda::Function')) {
      const { LogGroup } = user['LoggingConfig'] as { readonly LogGroup: unknown };
      expect(propertiesOf(idOf(LogGroup))['RetentionInDays'], id).toBeGreaterThan(0);
      expect(['Allow', 'Terminate'], id).toContain(user['RecursiveLoop']);
    }
    for (const [id, { DeletionPolicy, UpdateReplacePolicy }] of Object.entries(resources)) {
      const isVersion = resources[id]?.Type === 'AWS::Lambda::Version';
      if (!isVersion) expect([id, UpdateReplacePolicy]).toEqual([id, DeletionPolicy]);
    }
  });
});

/** Returns the logical id that a value refers to. */
function idOf(value: unknown): string {
  const found = /"(?:Ref|Fn::GetAtt)":\[?"([A-Za-z0-9]+)"/.exec(JSON.stringify(value))?.[1];
  if (found === undefined) throw new Error(`no reference: ${JSON.stringify(value)}`);
  return found;
}
