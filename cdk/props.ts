import type { RemovalPolicy } from 'aws-cdk-lib';
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { FunctionName } from '../lib/topology/topology.js';

/** Admits callers to the management routes instead of the management token. */
export type OutwaitAuthorizer =
  /** Callers that sign requests (AWS Signature Version 4) with the right `execute-api:Invoke`. */
  | { readonly kind: 'iam' }
  /** Callers with a JWT of the issuer for one of the audiences and, if scopes are listed, one of them. */
  | {
      readonly kind: 'jwt';
      readonly issuer: string;
      readonly audience: readonly string[];
      readonly scopes?: readonly string[];
    };

/** Who may call the served workflows, and where. */
export interface OutwaitServe {
  /**
   * `keys`: callers with a named key of the role `call`, or the management token, as bearer token. `iam`: callers that sign
   * requests (AWS Signature Version 4) with the right `execute-api:Invoke`; `access.principals` of the app says what each may
   * do. Cards are for everyone.
   */
  readonly access: { readonly kind: 'keys' } | { readonly kind: 'iam' };
  /**
   * Custom domain, other than that of the HTTP API. You create the DNS record yourself: its target is an output. Default:
   * none; the path then begins with a stage, so the card is not at the root of the host.
   */
  readonly domain?: { readonly name: string; readonly certificate: ICertificate };
  /** ARN of a web ACL (AWS WAF) of the region, for the stage. Default: none. */
  readonly webAclArn?: string;
  /** Seconds after which a stream ends, to be opened again by the client, 10 to 840. Default: 180. */
  readonly streamSeconds?: number;
  /**
   * Streams that may be open at once, of all callers together; each occupies an invocation. Beyond it a caller is told to
   * poll. Default: three quarters of `functions.serve.reservedConcurrency`; without that, 100.
   */
  readonly streamsMax?: number;
  /**
   * Whether to create the role with which API Gateway writes access logs: a setting of the whole account in the region, kept
   * when the stack goes. Set false where the account has one. Default: true.
   */
  readonly accountLogRole?: boolean;
}

/** Way in which the functions of a new deployment take over from the previous ones. */
export type OutwaitRollout =
  /** All at once, through the aliases: for a fix that must not wait, or be held up by an alarm. */
  | { readonly kind: 'allAtOnce' }
  /** The given percentage of the events, then, after so many minutes, all. */
  | { readonly kind: 'canary'; readonly percent: number; readonly minutes: number }
  /** The given percentage more each time. */
  | { readonly kind: 'linear'; readonly percent: number; readonly everyMinutes: number };

export interface OutwaitFunctionProps {
  /** Default: 1,024 for `turn` and `step`, 256 for `serve`, 512 for the others. */
  readonly memoryMb?: number;
  /**
   * Concurrent invocations that a queue may cause, 2 to 1,000; only for `turn` (default 100), `poll` (20 by each of its
   * two queues) and `step` (20). Preferable to `reservedConcurrency`: a throttled invocation counts as a receive of its
   * message.
   */
  readonly maxConcurrency?: number;
  /** Concurrency taken from the account's for this function alone. Default: none. */
  readonly reservedConcurrency?: number;
}

export interface OutwaitProps {
  /** Configuration file whose default export is the app, relative to the working directory of the synthesis. */
  readonly app: string;
  /**
   * Whether synthesis also loads the app, with `environment`, and refuses one that could not start, or has a schedule
   * that could not start anything. Default: true; set false for an app that can only be loaded on AWS.
   */
  readonly checkApp?: boolean;
  /**
   * Removal of the table and the generated secrets with the stack. Default: they are kept, and the table is protected.
   */
  readonly removalPolicy?: RemovalPolicy;
  /** An existing table with both indexes, such as a restored one. Default: a new one. */
  readonly table?: ITableV2;
  /** Receives alarm and OK notifications, except for rollout alarms, which fail the deployment. Default: none. */
  readonly alarmsTopic?: ITopic;
  /**
   * Number of remote tasks without a change (metric `StaleTasks`) above which, for a quarter of an hour, an alarm
   * goes off: a whole number of at least 0. Default: no such alarm, since long silent tasks are normal for some servers.
   */
  readonly staleTasksAlarm?: number;
  /** Retention of the logs of the functions and of the access log. Default: one month. */
  readonly logRetention?: RetentionDays;
  readonly functions?: Readonly<Partial<Record<FunctionName, OutwaitFunctionProps>>>;
  /**
   * Concurrent invocations of `step` that wait for servers to answer starts, with up to ten starts each, 2 to 1,000;
   * they do not count against long steps. Default: 50.
   */
  readonly startsMaxConcurrency?: number;
  /** Custom domain of the HTTP API. You create the DNS record yourself: its target is an output. Default: none. */
  readonly domain?: { readonly name: string; readonly certificate: ICertificate };
  /**
   * URL under which A2A agents reach the HTTP API to push news of tasks, such as that of your own domain. Default: the
   * API's own, which works as long as its default endpoint is not disabled.
   */
  readonly publicUrl?: string;
  /**
   * Lets others call the workflows that the app serves, through a REST API of their own. `false`: they are not served by
   * this deployment. Default: an app that serves workflows is refused.
   */
  readonly serve?: OutwaitServe | false;
  /** Authorizer of the management routes. Default: none, and management requests need the management token. */
  readonly authorizer?: OutwaitAuthorizer;
  /**
   * Names or ARNs that the configuration passes to `secretsManager()`, without wildcards; `api`, `turn`, `poll` and
   * `step` may read them. Default: none.
   */
  readonly secrets?: readonly string[];
  /** Names or ARNs that the configuration passes to `ssmParameter()`, likewise. Default: none. */
  readonly parameters?: readonly string[];
  /** SNS topics to which the configuration sends notices (`snsTopic()`); `poll` may publish to them. Default: none. */
  readonly noticeTopics?: readonly ITopic[];
  /** Texts `keyId:base64url[,…]`, of which the last stays for good. Default: a secret with a generated key. */
  readonly tokenKeys?: ISecret;
  /** Management token of at least 24 characters. Default: a secret with a generated one. */
  readonly managementToken?: ISecret;
  /** Secrets with one more accepted token each, for example while one is replaced. Default: none. */
  readonly otherManagementTokens?: readonly ISecret[];
  /**
   * Wraps the data keys that encrypt payloads. Default: payloads are stored unencrypted, in a table that AWS encrypts.
   */
  readonly payloadKey?: IKey;
  /**
   * `refuse`: payloads stored in the clear are not read, which is right once every run that was started before there
   * was a `payloadKey` has ended. Default: `read`.
   */
  readonly plainPayloads?: 'read' | 'refuse';
  /** Receives the lifecycle events of runs started from then on; `turn` may put events on it. Default: none. */
  readonly eventBus?: IEventBus;
  /**
   * Further environment variables of all functions. Not for secrets: anyone who may view a function sees them. Default:
   * none.
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Network of the functions. It needs a way out, to AWS and to the remote servers; by default the private subnets with
   * egress are used. Default: no VPC.
   */
  readonly vpc?: {
    readonly vpc: IVpc;
    readonly subnets?: SubnetSelection;
    readonly securityGroups?: readonly ISecurityGroup[];
  };
  /**
   * Limits on the requests of all callers together, for each API; beyond them requests get 429. Default: 200 a second, bursts of 400.
   */
  readonly throttle?: { readonly perSecond: number; readonly burst: number };
  /**
   * Partitions of the due index over which markers are spread, a whole number from 16 to 256. May be raised and lowered
   * at any time. Default: 16, enough for some 5,000 settlements a second.
   */
  readonly dueShards?: number;
  /**
   * Publishes a version of each function with each change, and routes events to it through an alias `live`; CodeDeploy
   * shifts them, and shifts them back if errors or newly blocked runs set off an alarm. Percentages are whole numbers
   * from 1 to 99; the whole takes at most 2,880 minutes. Default: no aliases, and functions are changed in place.
   */
  readonly rollout?: OutwaitRollout;
  /** Creates a dashboard. Default: true. */
  readonly dashboard?: boolean;
  /** Document with the sections about alarms. Default: `docs/operations.md`. */
  readonly runbook?: string;
}
