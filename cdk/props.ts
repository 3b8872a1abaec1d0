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

/** Admits callers to the management routes in place of the management token. */
export type OutwaitAuthorizer =
  /** Callers that sign requests (AWS Signature Version 4) with the right `execute-api:Invoke`. */
  | { readonly kind: 'iam' }
  /** Callers with a JWT of the issuer for one of the audiences, with one of the scopes where some are listed. */
  | {
      readonly kind: 'jwt';
      readonly issuer: string;
      readonly audience: readonly string[];
      readonly scopes?: readonly string[];
    };

/** How the functions of a new deployment take over from those of the one before. */
export type OutwaitRollout =
  /** All of it at once, by way of the aliases: for a fix that must not wait, or be held up by an alarm. */
  | { readonly kind: 'allAtOnce' }
  /** That many percent of the events, then, after that many minutes, all. */
  | { readonly kind: 'canary'; readonly percent: number; readonly minutes: number }
  /** That many percent more each time. */
  | { readonly kind: 'linear'; readonly percent: number; readonly everyMinutes: number };

export interface OutwaitFunctionProps {
  /** Default: 1,024 for `turn` and `step`, 512 for the others. */
  readonly memoryMb?: number;
  /**
   * Invocations at a time that a queue may cause, 2 to 1,000; only of `turn` (default 100), `poll` (20) and `step` (20). To be
   * preferred to `reservedConcurrency`: a throttled invocation counts as a receive of its message.
   */
  readonly maxConcurrency?: number;
  /** Taken from what the account has, for this function alone. Default: none. */
  readonly reservedConcurrency?: number;
}

export interface OutwaitProps {
  /** The configuration: the file whose default export is the app, relative to where synthesis runs. */
  readonly app: string;
  /**
   * Whether synthesis also loads the app, with `environment`, and refuses one that could not start, or has a schedule that
   * could start nothing. Default: true; false for an app that can be loaded on AWS only.
   */
  readonly checkApp?: boolean;
  /** Removal of the table and the generated secrets with the stack. Default: they are kept, and the table is protected. */
  readonly removalPolicy?: RemovalPolicy;
  /** An existing table with both indexes, such as a restored one. Default: a new one. */
  readonly table?: ITableV2;
  /** Receives alarm and OK notifications, except for rollout alarms, which fail the deployment. Default: none. */
  readonly alarmsTopic?: ITopic;
  /** Retention of the logs of the functions and of the access log. Default: one month. */
  readonly logRetention?: RetentionDays;
  readonly functions?: Readonly<Partial<Record<FunctionName, OutwaitFunctionProps>>>;
  /**
   * Invocations of `step` at a time that wait for servers to answer starts, up to ten starts in each, 2 to 1,000; they take
   * nothing from long steps. Default: 50.
   */
  readonly startsMaxConcurrency?: number;
  /** Custom domain of the HTTP API. The DNS record is yours to set up: its target is an output. Default: none. */
  readonly domain?: { readonly name: string; readonly certificate: ICertificate };
  /** Default: none, and management requests need the management token. */
  readonly authorizer?: OutwaitAuthorizer;
  /**
   * Names or ARNs that the configuration gives to `secretsManager()`, without wildcards: `api`, `turn`, `poll` and `step` may read them.
   * Default: none.
   */
  readonly secrets?: readonly string[];
  /** Names or ARNs that the configuration gives to `ssmParameter()`, alike. Default: none. */
  readonly parameters?: readonly string[];
  /** Texts `keyId:base64url[,…]`, of which the last stays for good. Default: a secret with a generated key. */
  readonly tokenKeys?: ISecret;
  /** The management token, at least 24 characters. Default: a secret with a generated one. */
  readonly managementToken?: ISecret;
  /** Each holds one more token that counts, as while one is replaced. Default: none. */
  readonly otherManagementTokens?: readonly ISecret[];
  /** Wraps the data keys that encrypt payloads. Default: payloads are stored as they are, in a table that AWS encrypts. */
  readonly payloadKey?: IKey;
  /**
   * `refuse`: payloads that are stored in the clear are not read, which is right once every run that was started before
   * there was a `payloadKey` has ended. Default: `read`.
   */
  readonly plainPayloads?: 'read' | 'refuse';
  /** Receives the lifecycle events of runs that start from then on; `turn` may put events on it. Default: none. */
  readonly eventBus?: IEventBus;
  /** Further environment variables of all functions. Not for secrets: they are visible to anyone who may see a function. Default: none. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Where the functions run. It needs a way out, to AWS and to the remote servers; the subnets are by default the private
   * ones with egress. Default: no VPC.
   */
  readonly vpc?: {
    readonly vpc: IVpc;
    readonly subnets?: SubnetSelection;
    readonly securityGroups?: readonly ISecurityGroup[];
  };
  /** Requests of all callers together; beyond it they are answered 429. Default: 200 a second, bursts of 400. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number };
  /**
   * Partitions of the due index over which markers are spread, a whole number from 16 to 256. May be raised and lowered at
   * any time. Default: 16, enough for some 5,000 settlements a second.
   */
  readonly dueShards?: number;
  /**
   * Publishes a version of each function with each change, and leads events to it by an alias `live`; CodeDeploy shifts
   * them, and shifts them back when errors or newly blocked runs set off an alarm. Percentages are whole numbers from 1 to
   * 99; all of it takes 2,880 minutes at most. Default: no aliases, and functions are changed in place.
   */
  readonly rollout?: OutwaitRollout;
  /** Default: true. */
  readonly dashboard?: boolean;
  /** Where the sections about alarms are. Default: `docs/operations.md`. */
  readonly runbook?: string;
}
