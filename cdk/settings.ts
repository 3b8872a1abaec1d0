import { defined } from '../lib/base/defined.js';
import { RemovalPolicy } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { SecurityGroup, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { z } from 'zod';
import type { FunctionName } from '../lib/topology/topology.js';
import { EngineError } from '../lib/base/errors.js';
import { dueShardsMax, dueShardsMin, streamSecondsMax, streamSecondsMin, streamsMaxMax } from '../lib/base/limits.js';
import type { OutwaitProps, OutwaitServe } from './props.js';

const functionNames = ['api', 'turn', 'poll', 'step', 'schedule', 'serve'] as const satisfies readonly FunctionName[];
const text = z.string().min(1);
const count = z.int().min(1);
/**
 * Checks an ARN of one resource. Rights are granted on what the settings name, so wildcards are refused. `resource`: a
 * pattern.
 */
const arnOf = (what: string, service: string, resource: string) =>
  z
    .string()
    .regex(
      new RegExp(`^arn:[a-z-]+:${service}:[a-z0-9-]*:[0-9]*:${resource}$`),
      `Invalid input: expected the ARN of ${what}`,
    );
const domainSchema = z.strictObject({
  name: text,
  certificateArn: arnOf('an ACM certificate', 'acm', 'certificate/[A-Za-z0-9-]+'),
});
const secretArn = z
  .string()
  .regex(
    /^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]+:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$/,
    'Invalid input: expected a complete ARN, ending in a hyphen and six characters',
  );
const busName = '[A-Za-z0-9/_.-]+';

/** The context key `outwait` of `cdk.json`: the props as plain data. */
const settingsSchema = z.strictObject({
  app: text,
  checkApp: z.boolean().optional(),
  stackName: z
    .string()
    .regex(
      /^[A-Za-z][A-Za-z0-9-]{0,127}$/,
      'Invalid input: expected letters, digits and hyphens, starting with a letter',
    )
    .optional(),
  removalPolicy: z.enum(['retain', 'destroy']).optional(),
  tableName: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{3,255}$/, 'Invalid input: expected a table name')
    .optional(),
  alarmsTopicArn: arnOf('an SNS topic', 'sns', '[A-Za-z0-9_.-]+').optional(),
  staleTasksAlarm: z.int().min(0).optional(),
  logRetentionDays: count.optional(),
  functions: z
    .partialRecord(
      z.enum(functionNames),
      z.strictObject({
        memoryMb: z.int().min(128).max(10_240).optional(),
        maxConcurrency: z.int().min(2).max(1_000).optional(),
        reservedConcurrency: count.optional(),
      }),
    )
    .optional(),
  startsMaxConcurrency: z.int().min(2).max(1_000).optional(),
  domain: domainSchema.optional(),
  publicUrl: z.url({ protocol: /^https$/ }).optional(),
  serve: z
    .union([
      z.literal(false),
      z.strictObject({
        access: z.discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('keys') }),
          z.strictObject({ kind: z.literal('iam') }),
        ]),
        domain: domainSchema.optional(),
        webAclArn: arnOf('a web ACL', 'wafv2', 'regional/webacl/[A-Za-z0-9/_-]+').optional(),
        streamSeconds: z.int().min(streamSecondsMin).max(streamSecondsMax).optional(),
        streamsMax: z.int().min(1).max(streamsMaxMax).optional(),
        accountLogRole: z.boolean().optional(),
      }),
    ])
    .optional(),
  authorizer: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('iam') }),
      z.strictObject({
        kind: z.literal('jwt'),
        issuer: z.url({ protocol: /^https$/ }),
        audience: z.array(text).min(1),
        scopes: z.array(text).min(1).optional(),
      }),
    ])
    .optional(),
  secrets: z.array(text).optional(),
  parameters: z.array(text).optional(),
  noticeTopicArns: z.array(arnOf('an SNS topic', 'sns', '[A-Za-z0-9_.-]+')).optional(),
  tokenKeysSecretArn: secretArn.optional(),
  managementTokenSecretArn: secretArn.optional(),
  otherManagementTokenSecretArns: z.array(secretArn).optional(),
  payloadKeyArn: arnOf('a KMS key (not an alias: rights are granted on keys)', 'kms', 'key/[A-Za-z0-9-]+').optional(),
  plainPayloads: z.enum(['read', 'refuse']).optional(),
  eventBus: z
    .union(
      [z.string().regex(new RegExp(`^${busName}$`)), arnOf('an event bus', 'events', `event-bus/${busName}`)],
      'Invalid input: expected the name or ARN of an EventBridge bus',
    )
    .optional(),
  environment: z.record(text, z.string()).optional(),
  // Given with its parts, not looked up, so that synthesis needs no account.
  vpc: z
    .strictObject({
      id: text,
      subnetIds: z.array(text).min(1),
      availabilityZones: z.array(text).min(1),
      securityGroupIds: z.array(text).min(1).optional(),
    })
    .optional(),
  throttle: z.strictObject({ perSecond: count, burst: count }).optional(),
  dueShards: z.int().min(dueShardsMin).max(dueShardsMax).optional(),
  rollout: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('allAtOnce') }),
      z.strictObject({ kind: z.literal('canary'), percent: count, minutes: count }),
      z.strictObject({ kind: z.literal('linear'), percent: count, everyMinutes: count }),
    ])
    .optional(),
  dashboard: z.boolean().optional(),
  runbook: text.optional(),
});

export type Settings = z.infer<typeof settingsSchema>;

/**
 * Checks the context `outwait`, an object or its JSON. `app` is the context of that name and replaces the setting.
 * @throws EngineError `CONFIG_INVALID` that names each wrong setting, but no value
 */
export function parseSettings(context: unknown, app?: unknown): Settings {
  const given: unknown = typeof context === 'string' ? parseJson(context) : (context ?? {});
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const merged = app === undefined || !isObject ? given : { ...given, app };
  const { success, data, error } = settingsSchema.safeParse(merged);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${['outwait', ...path].join('.')}: ${message}`);
  throw new EngineError('CONFIG_INVALID', `the context is not valid: ${problems.join('; ')}`);
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new EngineError('CONFIG_INVALID', 'the context outwait must be an object, or an object as JSON');
  }
}

/** Converts settings to props. Resources named by ARN are not looked up: whether they exist shows at deployment. */
export function propsOf(scope: Construct, settings: Settings): OutwaitProps {
  const {
    removalPolicy,
    tableName,
    alarmsTopicArn,
    noticeTopicArns,
    logRetentionDays,
    domain,
    serve,
    vpc,
    payloadKeyArn,
    ...others
  } = settings;
  const {
    stackName: _,
    tokenKeysSecretArn,
    managementTokenSecretArn,
    otherManagementTokenSecretArns,
    eventBus,
    ...plain
  } = others;
  return {
    ...plain,
    ...defined({
      removalPolicy: removalPolicy === 'destroy' ? RemovalPolicy.DESTROY : undefined,
      table: tableName === undefined ? undefined : TableV2.fromTableName(scope, 'Table', tableName),
      noticeTopics: noticeTopicArns?.map((arn, at) => Topic.fromTopicArn(scope, `NoticeTopic${at}`, arn)),
      alarmsTopic: alarmsTopicArn === undefined ? undefined : Topic.fromTopicArn(scope, 'AlarmsTopic', alarmsTopicArn),
      logRetention: logRetentionDays === undefined ? undefined : retentionOf(logRetentionDays),
      domain: domain === undefined ? undefined : domainOf(scope, 'Certificate', domain),
      serve: serve === undefined || serve === false ? serve : serveOf(scope, serve),
      tokenKeys:
        tokenKeysSecretArn === undefined
          ? undefined
          : Secret.fromSecretCompleteArn(scope, 'TokenKeys', tokenKeysSecretArn),
      managementToken:
        managementTokenSecretArn === undefined
          ? undefined
          : Secret.fromSecretCompleteArn(scope, 'ManagementToken', managementTokenSecretArn),
      otherManagementTokens:
        otherManagementTokenSecretArns === undefined
          ? undefined
          : otherManagementTokenSecretArns.map((arn, at) =>
              Secret.fromSecretCompleteArn(scope, `OtherManagementToken${at + 1}`, arn),
            ),
      payloadKey: payloadKeyArn === undefined ? undefined : Key.fromKeyArn(scope, 'PayloadKey', payloadKeyArn),
      eventBus: eventBus === undefined ? undefined : busOf(scope, eventBus),
      vpc: vpc === undefined ? undefined : vpcOf(scope, vpc),
    }),
  };
}

function domainOf(scope: Construct, id: string, { name, certificateArn }: z.infer<typeof domainSchema>) {
  return { name, certificate: Certificate.fromCertificateArn(scope, id, certificateArn) };
}

function serveOf(
  scope: Construct,
  { domain, ...others }: Exclude<NonNullable<Settings['serve']>, false>,
): OutwaitServe {
  return {
    ...others,
    ...defined({ domain: domain === undefined ? undefined : domainOf(scope, 'ServeCertificate', domain) }),
  };
}

/** Returns a bus by its ARN, or by its name in this account and region. */
function busOf(scope: Construct, bus: string): IEventBus {
  return bus.startsWith('arn:')
    ? EventBus.fromEventBusArn(scope, 'EventBus', bus)
    : EventBus.fromEventBusName(scope, 'EventBus', bus);
}

function vpcOf(scope: Construct, { id, subnetIds, availabilityZones, securityGroupIds }: NonNullable<Settings['vpc']>) {
  return {
    vpc: Vpc.fromVpcAttributes(scope, 'Vpc', { vpcId: id, availabilityZones }),
    subnets: { subnets: subnetIds.map((subnetId, at) => Subnet.fromSubnetId(scope, `Subnet${at + 1}`, subnetId)) },
    ...defined({
      securityGroups:
        securityGroupIds === undefined
          ? undefined
          : securityGroupIds.map((groupId, at) =>
              // Leaves its rules to its owner.
              SecurityGroup.fromSecurityGroupId(scope, `SecurityGroup${at + 1}`, groupId, { mutable: false }),
            ),
    }),
  };
}

/** Returns a retention that CloudWatch allows, which are certain numbers of days only. */
function retentionOf(days: number): RetentionDays {
  const name = RetentionDays[days] as keyof typeof RetentionDays | undefined;
  if (name !== undefined) return RetentionDays[name];
  const known = Object.values(RetentionDays).filter((value) => typeof value === 'number');
  throw new EngineError('CONFIG_INVALID', `outwait.logRetentionDays must be one of ${known.join(', ')}, got ${days}`);
}
