import { defined } from '../lib/base/defined.js';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { DomainName, HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Alarm, Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { envNames } from '../lib/topology/env.js';
import { type FunctionName, type QueueName, queues, schedule } from '../lib/topology/topology.js';
import { acknowledgeFindings } from './acknowledgements.js';
import { alarmRules, createAlarms } from './alarms.js';
import { checkProps } from './check-props.js';
import { createDashboard } from './dashboard.js';
import { createFunctions, type OutwaitFunctions } from './functions.js';
import { createApi, openHttpApi } from './http-api.js';
import { grantRights } from './permissions.js';
import type { OutwaitProps, OutwaitRollout } from './props.js';
import { createQueues, type OutwaitQueues } from './queues.js';
import { createAliases, type OutwaitAliases, rolloutAlarmRules, shiftGradually } from './rollout.js';
import { createServeApi, openServeApi, type OutwaitServeApi, streamsMaxOf } from './serve-api.js';
import { createTable } from './table.js';

/**
 * Deploys one app to AWS: its table, queues, functions, schedule and HTTP API, with alarms. Steps run in
 * `functions.turn`, those with `long` in `functions.step`: grant these whatever the steps need of your account.
 * @throws EngineError `CONFIG_INVALID` if the configuration does not exist or cannot be bundled, or a property is not
 * valid
 * @example
 * ```ts
 * import { App, Stack } from 'aws-cdk-lib';
 * import { Outwait } from 'outwait/cdk';
 *
 * const stack = new Stack(new App(), 'Reports');
 * new Outwait(stack, 'Outwait', { app: './outwait.config.ts', secrets: ['prod/reports'] });
 * ```
 */
export class Outwait extends Construct {
  readonly table: ITableV2;
  readonly queues: Readonly<Record<QueueName, Queue>>;
  /** Dead-letter queues of each queue and of the sweep, for work that failed several times. */
  readonly deadLetters: OutwaitQueues['deadLetters'];
  readonly functions: OutwaitFunctions;
  /** Aliases that receive events instead of the functions; undefined without `rollout`. */
  readonly aliases: OutwaitAliases | undefined;
  readonly api: HttpApi;
  /** Target for your own domain name. */
  readonly domain: DomainName | undefined;
  /** The REST API of served workflows; undefined without `serve`. */
  readonly served: OutwaitServeApi | undefined;
  readonly tokenKeys: ISecret;
  /** Secret with the management token; undefined if there is an authorizer. */
  readonly managementToken: ISecret | undefined;
  readonly alarms: readonly Alarm[];
  readonly dashboard: Dashboard | undefined;

  constructor(scope: Construct, id: string, props: OutwaitProps) {
    super(scope, id);
    checkProps(props);
    const { removalPolicy = RemovalPolicy.RETAIN, runbook = 'docs/operations.md' } = props;
    this.table = props.table ?? createTable(this, removalPolicy);
    const { work, deadLetters } = createQueues(this);
    this.queues = work;
    this.deadLetters = deadLetters;
    this.tokenKeys = props.tokenKeys ?? this.#secret('TokenKeys', removalPolicy);
    if (props.authorizer === undefined)
      this.managementToken = props.managementToken ?? this.#secret('ManagementToken', removalPolicy);

    this.api = createApi(this);
    const serve = props.serve === false ? undefined : props.serve;
    this.served = serve === undefined ? undefined : createServeApi(this, serve, props);
    this.functions = createFunctions(this, props, (name) => this.#environment(name, props));
    this.#grantRights(props);
    this.aliases = props.rollout === undefined ? undefined : createAliases(this.functions);
    this.#receive('turn', 'turn', props);
    this.#receive('work', 'poll', props);
    this.#receive('slow', 'poll', props);
    this.#receive('step', 'step', props);
    this.#receive('start', 'step', props);
    this.#sweep();

    const { api } = this;
    this.domain = openHttpApi(this, api, this.#receiver('api'), props).domain;
    if (serve !== undefined && this.served !== undefined)
      openServeApi(this, this.served, { serve, handler: this.#receiver('serve') });
    const { table, functions } = this;
    const { staleTasksAlarm } = props;
    this.alarms = [
      ...createAlarms(this, alarmRules({ table, functions, deadLetters, staleTasksAlarm }), {
        topic: props.alarmsTopic,
        runbook,
      }),
      ...this.#rollOut(props.rollout, runbook),
    ];
    this.dashboard =
      props.dashboard === false
        ? undefined
        : createDashboard(this, {
            ...{ alarms: this.alarms, table, functions, api },
            queues: { work, deadLetters },
            serveApi: this.served?.api,
          });
    acknowledgeFindings({
      api,
      serveApi: this.served?.api,
      hasAuthorizer: props.authorizer !== undefined,
      sweepDeadLetters: deadLetters.sweep,
      secrets: [this.tokenKeys, this.managementToken].filter((secret) => secret instanceof Secret),
    });
  }

  #grantRights(props: OutwaitProps): void {
    const { serve } = props;
    const servesKeys = serve !== undefined && serve !== false && serve.access.kind === 'keys';
    grantRights({
      functions: this.functions,
      table: this.table,
      queues: this.queues,
      tokenKeys: this.tokenKeys,
      managementTokens: this.#managementTokens(props),
      serveTokens: servesKeys ? this.#managementTokens(props) : [],
      payloadKey: props.payloadKey,
      eventBus: props.eventBus,
      noticeTopics: props.noticeTopics ?? [],
      secrets: props.secrets ?? [],
      parameters: props.parameters ?? [],
    });
  }

  /**
   * Creates a secret of letters and digits, which are base64url, so that the generated text is a token key as it is.
   */
  #secret(id: string, removalPolicy: RemovalPolicy): Secret {
    return new Secret(this, id, {
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      // Outlives the stack by default: without the keys, tokens of runs are worthless, and a repeated key starts a
      // second run.
      removalPolicy,
    });
  }

  #environment(name: FunctionName, props: OutwaitProps): Record<string, string> {
    return {
      ...props.environment,
      [envNames.table]: this.table.tableName,
      [envNames.turnQueueUrl]: this.queues.turn.queueUrl,
      [envNames.workQueueUrl]: this.queues.work.queueUrl,
      [envNames.stepQueueUrl]: this.queues.step.queueUrl,
      [envNames.startQueueUrl]: this.queues.start.queueUrl,
      [envNames.slowQueueUrl]: this.queues.slow.queueUrl,
      [envNames.tokenKeysSecret]: this.tokenKeys.secretArn,
      ...defined({
        [envNames.payloadKmsKey]: props.payloadKey?.keyArn,
        [envNames.plainPayloads]: props.plainPayloads,
        [envNames.dueShards]: props.dueShards === undefined ? undefined : String(props.dueShards),
        [envNames.eventBus]:
          props.eventBus !== undefined && busUsers.includes(name) ? props.eventBus.eventBusArn : undefined,
        // The poller signs pushes in the name of the agent.
        [envNames.serveUrl]: name === 'serve' || name === 'poll' ? this.served?.url : undefined,
        [envNames.publicUrl]: publicUrlUsers.includes(name) ? (props.publicUrl ?? this.api.apiEndpoint) : undefined,
      }),
      ...(name === 'api' ? this.#managementEnvironment(props, props.authorizer !== undefined) : undefined),
      ...(name === 'serve' ? this.#serveEnvironment(props) : undefined),
    };
  }

  #serveEnvironment(props: OutwaitProps): Record<string, string> {
    if (props.serve === undefined || props.serve === false) return {};
    const { access, streamSeconds } = props.serve;
    const streamsMax = streamsMaxOf(props.serve, props.functions?.serve?.reservedConcurrency);
    return {
      ...this.#managementEnvironment(props, access.kind === 'iam'),
      ...defined({
        [envNames.streamSeconds]: streamSeconds === undefined ? undefined : String(streamSeconds),
        [envNames.streamsMax]: streamsMax === undefined ? undefined : String(streamsMax),
      }),
    };
  }

  /** Returns the variables that say whom a function lets in. Without tokens only named keys are accepted. */
  #managementEnvironment(props: OutwaitProps, byAuthorizer: boolean): Record<string, string> {
    if (byAuthorizer) return { [envNames.managementAccess]: 'authorizer' };
    const tokens = this.#managementTokens(props).map(({ secretArn }) => secretArn);
    return tokens.length === 0 ? {} : { [envNames.managementTokenSecret]: tokens.join(',') };
  }

  #managementTokens({ otherManagementTokens = [] }: OutwaitProps): readonly ISecret[] {
    return this.managementToken === undefined ? [] : [this.managementToken, ...otherManagementTokens];
  }

  /** Returns the target of events for a function. */
  #receiver(name: FunctionName): IFunction {
    const receiver = this.aliases?.[name] ?? this.functions[name];
    if (receiver === undefined) throw new Error(`there is no function ${name}`);
    return receiver;
  }

  /** Returns the alarms that roll a deployment back. */
  #rollOut(rollout: OutwaitRollout | undefined, runbook: string): readonly Alarm[] {
    if (this.aliases === undefined || rollout === undefined || rollout.kind === 'allAtOnce') return [];
    const alarms = createAlarms(this, rolloutAlarmRules(this.aliases), { runbook });
    shiftGradually(this, rollout, { aliases: this.aliases, alarms });
    return alarms;
  }

  #receive(queue: QueueName, receiver: FunctionName, props: OutwaitProps): void {
    const { batchSize, batchingWindowMs, maxConcurrency } = queues[queue].eventSource;
    this.#receiver(receiver).addEventSource(
      new SqsEventSource(this.queues[queue], {
        batchSize,
        ...defined({ maxBatchingWindow: batchingWindowMs === 0 ? undefined : Duration.millis(batchingWindowMs) }),
        maxConcurrency:
          (queue === 'start' ? props.startsMaxConcurrency : props.functions?.[receiver]?.maxConcurrency) ??
          maxConcurrency,
        reportBatchItemFailures: true,
      }),
    );
  }

  #sweep(): void {
    const maxEventAge = Duration.millis(schedule.eventMaxAgeMs);
    const { sweep: deadLetterQueue } = this.deadLetters;
    // Retries at both levels: EventBridge retries delivery, Lambda a function that throws.
    const receiver = this.#receiver('schedule');
    receiver.configureAsyncInvoke({
      retryAttempts: schedule.eventRetries,
      maxEventAge,
      onFailure: new SqsDestination(deadLetterQueue),
    });
    new Rule(this, 'Sweep', {
      schedule: Schedule.rate(Duration.millis(schedule.everyMs)),
      targets: [
        new LambdaFunction(receiver, {
          retryAttempts: schedule.eventRetries,
          maxEventAge,
          deadLetterQueue,
        }),
      ],
    });
  }
}

/**
 * Functions that use the bus: those that start runs, which note on them that there is one, and the one that publishes.
 */
const busUsers: readonly FunctionName[] = ['api', 'turn', 'schedule', 'serve'];

/**
 * Functions that tell others where the API is, and `api`: those that start remote tasks name it to their servers, `poll`
 * links to it in notices, and `api` expects it in the tokens of agents that sign their pushes.
 */
const publicUrlUsers: readonly FunctionName[] = ['turn', 'step', 'poll', 'api'];
