import { SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { startDynoxide } from '../../support/dynoxide.js';
import { type FakeEventBridge, startFakeEventBridge } from '../../support/fake-eventbridge.js';
import { startFakeKms } from '../../support/fake-kms.js';
import { account } from './account.js';
import { AsyncInvocations } from './async-invocations.js';
import { AwsEndpoint, credentialsOf } from './aws-endpoint.js';
import type { CloudAssembly, Template } from './cloud-assembly.js';
import { startEventSources } from './event-sources.js';
import { type FunctionSpec, functionsOf } from './functions.js';
import { HttpApi } from './http-api.js';
import { type Identities, identitiesOf } from './identities.js';
import { resolveText } from './intrinsics.js';
import { Lambda } from './lambda.js';
import { logGroupsOf } from './log-groups.js';
import { Opened } from './opened.js';
import { permissionsOf } from './permissions.js';
import { createQueues, type Queue } from './queues.js';
import { writeReplicaProgram } from './replica-program.js';
import { RestApi } from './rest-api.js';
import { type Grant, Rights } from './rights.js';
import { runtimeEnvironment } from './runtime-environment.js';
import { startRules } from './schedule-rules.js';
import { type Kept, Secrets } from './secrets.js';
import { StackResources } from './stack-resources.js';
import { createTables } from './tables.js';

export interface DeployOptions extends Kept {
  /** Processes of each function. Default: 3. */
  readonly replicas?: number;
  /** ARNs of the existing KMS keys. */
  readonly kmsKeys?: readonly string[];
  /** Delays of Lambda before it repeats an event. Default: the real ones. */
  readonly retryDelaysMs?: readonly number[];
}

export interface LogLine {
  readonly replica: string;
  readonly line: string;
}

/** A running stack. Names are those of the code, such as `TurnQueue`. */
export interface Deployment {
  /** Outputs of the template, by name. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly aws: AwsEndpoint;
  readonly lambda: Lambda;
  readonly secrets: Secrets;
  readonly events: FakeEventBridge;
  /** Requests of a client outside, which reach the REST API by its URL. */
  readonly fetch: typeof fetch;
  /** Everything that the functions have printed. */
  readonly logs: readonly LogLine[];
  /** Returns everything that is granted to roles, with how often it was used. */
  grants(): readonly Grant[];
  /** Returns what was refused: role, action, resource. */
  denials(): readonly string[];
  /** Returns the bodies of the messages that could be received from a queue now. */
  messagesIn(queue: string): readonly string[];
  stop(): Promise<void>;
}

/**
 * Deploys a stack from the output of `cdk synth` on this machine: its table, its queues, its functions in processes of
 * their own, and their event sources. Throws for any part of a template that is not supported here.
 */
export async function deploy(assembly: CloudAssembly, options: DeployOptions = {}): Promise<Deployment> {
  const opened = new Opened();
  try {
    return await deployInto(opened, assembly, options);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function deployInto(opened: Opened, assembly: CloudAssembly, options: DeployOptions): Promise<Deployment> {
  const { template } = assembly;
  const sqs = await opened.add(startFauxqs({ port: 0, logger: false, host: '127.0.0.1' }), (part) => part.stop());
  const aws = await opened.add(AwsEndpoint.open(), (part) => part.close());
  const api = await opened.add(HttpApi.open(), (part) => part.close());

  const restApi = await opened.add(RestApi.open(), (part) => part.close());

  const identities = identitiesOf(template, { aws: aws.url, api: api.url });
  const resources = new StackResources(template, identities);
  const rights = new Rights(resources, identities);
  const secrets = new Secrets(resources, identities, options);
  const queues = createQueues(resources, identities, sqs);
  const events = await opened.add(startFakeEventBridge(), (part) => part.close());
  aws.serve({
    dynamodb: await openDatabase(opened, resources, identities),
    sqs: `http://127.0.0.1:${sqs.port}`,
    kms: (await opened.add(startFakeKms(...(options.kmsKeys ?? [])), (part) => part.close())).endpoint,
    events: events.endpoint,
    queueUrlOf: (name) => queues.find((queue) => queue.name === name)?.standInUrl,
    secrets,
    rights,
  });

  const logs: LogLine[] = [];
  const roleOf = (spec: FunctionSpec): string => rights.assume(spec.roleArn, 'lambda.amazonaws.com');
  const logNeed = logGroupsOf(resources, identities);
  const { path: program } = await opened.add(writeReplicaProgram(), (part) => part.remove());
  const lambda = await opened.add(
    Lambda.start({
      functions: functionsOf(resources, identities, assembly),
      replicas: options.replicas ?? 3,
      program,
      environmentOf: (spec, replica) => {
        aws.allows(roleOf(spec), logNeed(spec.logGroup, replica, 'logs:CreateLogStream'));
        return runtimeEnvironment(spec, credentialsOf(roleOf(spec), replica), aws.url);
      },
      onOutput: (spec, replica, line) => {
        aws.allows(roleOf(spec), logNeed(spec.logGroup, replica, 'logs:PutLogEvents'));
        logs.push({ replica, line });
      },
    }),
    (part) => part.stop(),
  );

  const clients = new FunctionClients(aws.url, (reference) => roleOf(lambda.specOf(reference)));
  opened.onClose(() => {
    clients.close();
  });
  const shared = {
    lambda,
    queues,
    identities,
    mayInvoke: permissionsOf(resources),
    clientOf: (reference: string) => clients.of(reference),
  };
  api.serve(resources, shared);
  restApi.serve(resources, shared);
  await opened.add(startEventSources(resources, shared), (stop) => stop());
  const invocations = new AsyncInvocations(resources, { ...shared, ...retriesOf(options) });
  opened.onClose(() => invocations.stop());
  const putAside = (queueArn: string, ruleArn: string, event: object): Promise<void> =>
    aws.sendAs('events.amazonaws.com', ruleArn, queueArn, JSON.stringify(event));
  opened.onClose(startRules(resources, { ...shared, invocations, putAside }));
  resources.expectAllTaken();

  return {
    outputs: outputsOf(template, identities),
    aws,
    lambda,
    secrets,
    events,
    fetch: restApi.fetch,
    logs,
    grants: () => rights.grants(),
    denials: () =>
      aws.denials.map(({ role, action, resource }) => identities.described(`${role} ${action} ${resource}`)),
    messagesIn: (queue) => messagesIn(sqs, queues, ({ arn }) => identities.described(arn) === queue),
    stop: () => opened.close(),
  };
}

/** Returns the address of a database with the tables of a template. */
async function openDatabase(opened: Opened, resources: StackResources, identities: Identities): Promise<string> {
  const { endpoint } = await opened.add(startDynoxide(), (part) => part.stop());
  await createTables(resources, identities, endpoint);
  return endpoint;
}

/** Clients of SQS for what Lambda does in the names of functions. */
class FunctionClients {
  readonly #endpoint: string;
  readonly #roleOf: (reference: string) => string;
  readonly #clients = new Map<string, SQSClient>();

  constructor(endpoint: string, roleOf: (reference: string) => string) {
    this.#endpoint = endpoint;
    this.#roleOf = roleOf;
  }

  of(reference: string): SQSClient {
    const role = this.#roleOf(reference);
    const client = this.#clients.get(role) ?? this.#create(role);
    this.#clients.set(role, client);
    return client;
  }

  close(): void {
    for (const client of this.#clients.values()) client.destroy();
  }

  #create(role: string): SQSClient {
    const credentials = credentialsOf(role, 'lambda');
    return new SQSClient({ endpoint: this.#endpoint, region: account.region, credentials });
  }
}

function retriesOf({ retryDelaysMs }: DeployOptions): Pick<DeployOptions, 'retryDelaysMs'> {
  return retryDelaysMs === undefined ? {} : { retryDelaysMs };
}

function outputsOf({ Outputs: outputs = {} }: Template, identities: Identities): Readonly<Record<string, string>> {
  const texts = Object.entries(outputs).map(([name, { Value: value }]) => [name, resolveText(value, identities)]);
  return Object.fromEntries(texts) as Record<string, string>;
}

function messagesIn(sqs: FauxqsServer, queues: readonly Queue[], isIt: (queue: Queue) => boolean): readonly string[] {
  const inspected = sqs.inspectQueue(queues.find(isIt)?.name ?? '');
  if (inspected === undefined) throw new Error('there is no such queue');
  const { ready, delayed } = inspected.messages;
  // Delayed messages stay where they are until a client asks for them.
  const due = delayed.filter(({ delayUntil = 0 }) => delayUntil <= Date.now());
  return [...ready, ...due].map(({ body }) => body);
}
