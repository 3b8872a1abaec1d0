import { resolve } from 'node:path';
import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { AttributeType, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, Runtime } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { NodejsFunction, OutputFormat, SourceMapMode } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { envNames } from '../lib/aws/env.js';
import {
  bundling,
  functions,
  httpPaths,
  queues,
  schedule,
  tableIndexes,
  type FunctionName,
  type QueueName,
} from '../lib/aws/topology.js';

export interface OutwaitStackProps extends StackProps {
  /** The file whose default export is the app, relative to the project. */
  readonly config: string;
  /** Wraps the data keys that encrypt payloads. Default: payloads are stored as they are, in a table that AWS encrypts. */
  readonly payloadKey?: IKey;
}

/** Table, queues, functions, schedule and HTTP API of one app, as `lib/aws/topology.ts` describes them. */
export class OutwaitStack extends Stack {
  readonly table: TableV2;
  readonly queues: Readonly<Record<QueueName, Queue>>;
  readonly functions: Readonly<Record<FunctionName, NodejsFunction>>;

  constructor(scope: Construct, id: string, props: OutwaitStackProps) {
    super(scope, id, props);
    this.table = this.#table();
    this.queues = { turn: this.#queue('turn'), work: this.#queue('work'), step: this.#queue('step') };

    const environment = this.#environment();
    this.functions = {
      api: this.#function('api', props.config, environment),
      turn: this.#function('turn', props.config, environment),
      poll: this.#function('poll', props.config, environment),
      step: this.#function('step', props.config, environment),
      schedule: this.#function('schedule', props.config, environment),
    };
    this.#receive('turn', this.functions.turn);
    this.#receive('work', this.functions.poll);
    this.#receive('step', this.functions.step);
    this.#grant();
    if (props.payloadKey !== undefined) this.#encryptPayloads(props.payloadKey);

    new Rule(this, 'Sweep', {
      schedule: Schedule.rate(Duration.millis(schedule.everyMs)),
      targets: [new LambdaFunction(this.functions.schedule, { retryAttempts: 2, maxEventAge: Duration.minutes(2) })],
    });
    this.#api();
  }

  #table(): TableV2 {
    const string = (name: string) => ({ name, type: AttributeType.STRING });
    return new TableV2(this, 'Table', {
      partitionKey: string('pk'),
      sortKey: string('sk'),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      // Runs wait for weeks: the table outlives the stack unless somebody removes it on purpose.
      removalPolicy: RemovalPolicy.RETAIN,
      deletionProtection: true,
      globalSecondaryIndexes: Object.entries(tableIndexes).map(([indexName, index]) => ({
        indexName,
        partitionKey: string(index.partition),
        sortKey: { name: index.sort, type: index.sortType === 'number' ? AttributeType.NUMBER : AttributeType.STRING },
        projectionType: ProjectionType.INCLUDE,
        nonKeyAttributes: [...index.projected],
      })),
    });
  }

  #queue(name: QueueName): Queue {
    const rules = queues[name];
    const fifo = rules.fifo ? { fifo: true } : {};
    const deadLetters = new Queue(this, `${name}DeadLetters`, {
      ...fifo,
      enforceSSL: true,
      retentionPeriod: Duration.days(rules.deadLetterRetentionDays),
    });
    return new Queue(this, `${name}Queue`, {
      ...fifo,
      enforceSSL: true,
      visibilityTimeout: Duration.millis(rules.visibilityMs),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: rules.maxReceiveCount },
    });
  }

  #environment(): Record<string, string> {
    // Letters and digits are base64url, so the generated text is a key as it is.
    const secretText = (id: string) =>
      new Secret(this, id, {
        generateSecretString: { passwordLength: 64, excludePunctuation: true },
      }).secretValue.unsafeUnwrap();
    return {
      [envNames.table]: this.table.tableName,
      [envNames.turnQueueUrl]: this.queues.turn.queueUrl,
      [envNames.workQueueUrl]: this.queues.work.queueUrl,
      [envNames.stepQueueUrl]: this.queues.step.queueUrl,
      [envNames.tokenKeys]: `k1:${secretText('TokenKey')}`,
      [envNames.managementToken]: secretText('ManagementToken'),
    };
  }

  #function(name: FunctionName, config: string, environment: Record<string, string>): NodejsFunction {
    const rules = functions[name];
    return new NodejsFunction(this, `${name}Function`, {
      entry: resolve(import.meta.dirname, `../functions/${name}.ts`),
      handler: 'handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: Duration.millis(rules.timeoutMs),
      memorySize: rules.memoryMb,
      environment,
      bundling: {
        format: OutputFormat.ESM,
        target: bundling.target,
        mainFields: [...bundling.mainFields],
        minify: bundling.minify,
        keepNames: bundling.keepNames,
        sourceMap: bundling.sourcemap,
        sourceMapMode: SourceMapMode.EXTERNAL,
        banner: bundling.banner,
        // The runtime's own copy of the SDK is slower to load, and changes under our feet.
        externalModules: [],
        esbuildArgs: {
          '--alias:outwait:app': resolve(config),
          '--alias:outwait': resolve(import.meta.dirname, '../lib/index.ts'),
        },
      },
    });
  }

  #receive(name: QueueName, receiver: NodejsFunction): void {
    const { batchSize, batchingWindowMs, maxConcurrency } = queues[name].eventSource;
    receiver.addEventSource(
      new SqsEventSource(this.queues[name], {
        batchSize,
        ...(batchingWindowMs === 0 ? {} : { maxBatchingWindow: Duration.millis(batchingWindowMs) }),
        maxConcurrency,
        reportBatchItemFailures: true,
      }),
    );
  }

  #grant(): void {
    const { api, turn, poll, step, schedule: sweep } = this.functions;
    // The sweep starts the runs of schedules.
    for (const writer of [api, turn, poll, step, sweep]) this.table.grantReadWriteData(writer);
    for (const sender of [api, turn, poll, step, sweep]) this.queues.turn.grantSendMessages(sender);
    for (const sender of [api, turn, poll, sweep]) this.queues.work.grantSendMessages(sender);
    for (const sender of [turn, step, sweep]) this.queues.step.grantSendMessages(sender);
  }

  /** Everything that touches payloads: the sweep reads them where a schedule looks after its last run. */
  #encryptPayloads(key: IKey): void {
    for (const user of Object.values(this.functions)) {
      user.addEnvironment(envNames.payloadKmsKey, key.keyArn);
      key.grant(user, 'kms:GenerateDataKey', 'kms:Decrypt');
    }
  }

  #api(): void {
    const api = new HttpApi(this, 'Api');
    const integration = new HttpLambdaIntegration('ApiIntegration', this.functions.api);
    for (const path of httpPaths) api.addRoutes({ path, methods: [HttpMethod.ANY], integration });
    new CfnOutput(this, 'ApiUrl', { value: api.apiEndpoint });
  }
}
