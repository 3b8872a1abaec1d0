import type { RemovalPolicy } from 'aws-cdk-lib';
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { FunctionName } from '../lib/aws/topology.js';

/** Who is let through to the management routes in place of the holder of the management token. */
export type OutwaitAuthorizer =
  /** Whoever signs requests (AWS Signature Version 4) with the right `execute-api:Invoke`. */
  | { readonly kind: 'iam' }
  /** Whoever carries a JWT of the issuer for one of the audiences, with one of the scopes where some are listed. */
  | {
      readonly kind: 'jwt';
      readonly issuer: string;
      readonly audience: readonly string[];
      readonly scopes?: readonly string[];
    };

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
  /** What becomes of the table and the generated secrets with the stack. Default: they are kept, and the table is protected. */
  readonly removalPolicy?: RemovalPolicy;
  /** One that is there, with both indexes, such as a restored one. Default: a new one. */
  readonly table?: ITableV2;
  /** Is told of alarms, and of their end. Default: nobody. */
  readonly alarmsTopic?: ITopic;
  /** Of the functions and of the access log. Default: one month. */
  readonly logRetention?: RetentionDays;
  readonly functions?: Readonly<Partial<Record<FunctionName, OutwaitFunctionProps>>>;
  /** Of the HTTP API. Where its name leads is yours to set up: the target is an output. Default: none. */
  readonly domain?: { readonly name: string; readonly certificate: ICertificate };
  /** Default: none, and management requests need the management token. */
  readonly authorizer?: OutwaitAuthorizer;
  /** Names or ARNs that the configuration gives to `secretsManager()`: `api`, `turn` and `poll` may read them. Default: none. */
  readonly secrets?: readonly string[];
  /** Names that the configuration gives to `ssmParameter()`, alike. Default: none. */
  readonly parameters?: readonly string[];
  /** Texts `keyId:base64url[,…]`, of which the last stays for good. Default: a secret with a generated key. */
  readonly tokenKeys?: ISecret;
  /** Text of the management token, or several with commas between them. Default: a secret with a generated one. */
  readonly managementToken?: ISecret;
  /** Wraps the data keys that encrypt payloads. Default: payloads are stored as they are, in a table that AWS encrypts. */
  readonly payloadKey?: IKey;
  /** Further environment variables of all functions. Not for secrets: whoever may see a function sees them. Default: none. */
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
  /** Default: true. */
  readonly dashboard?: boolean;
  /** Where the sections about alarms are. Default: `docs/operations.md`. */
  readonly runbook?: string;
}
