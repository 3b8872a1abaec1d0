import { defined } from '../lib/base/defined.js';
import { Annotations, Duration, RemovalPolicy, Token } from 'aws-cdk-lib';
import { ManagedPolicy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Function as LambdaFunction, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { type FunctionName, functions } from '../lib/topology/topology.js';
import { acknowledge } from './acknowledgements.js';
import type { FunctionVariables } from './bundle-request.js';
import { FunctionBundles } from './function-bundles.js';
import type { OutwaitProps } from './props.js';

const functionNames = Object.keys(functions) as FunctionName[];

export type OutwaitFunctions = Readonly<Record<Exclude<FunctionName, 'serve'>, LambdaFunction>> & {
  /** Missing if no workflows are served. */
  readonly serve?: LambdaFunction;
};

/**
 * Creates the functions, each with its own role and log group, and no rights yet except to write to that.
 * @throws EngineError `CONFIG_INVALID` with the mistake in the user's code
 */
export function createFunctions(
  scope: Construct,
  props: OutwaitProps,
  environmentOf: (name: FunctionName) => Record<string, string>,
): OutwaitFunctions {
  const isServed = props.serve !== undefined && props.serve !== false;
  const bundles = new FunctionBundles(props.app, {
    names: functionNames.filter((name) => name !== 'serve' || isServed),
    ...defined({ load: props.checkApp === false ? undefined : variablesOf(environmentOf('turn'), props) }),
    onUnsure: (message) => {
      Annotations.of(scope).addWarningV2('outwait:app-not-checked', message);
    },
  });
  const create = (id: string, name: FunctionName): LambdaFunction =>
    createFunction(scope, { id, name, props, environment: environmentOf(name), bundles });
  try {
    return {
      api: create('ApiFunction', 'api'),
      turn: create('TurnFunction', 'turn'),
      poll: create('PollFunction', 'poll'),
      step: create('StepFunction', 'step'),
      schedule: create('ScheduleFunction', 'schedule'),
      ...defined({ serve: isServed ? create('ServeFunction', 'serve') : undefined }),
    };
  } catch (error) {
    throw bundles.failure ?? error;
  }
}

function variablesOf(
  environment: Record<string, string>,
  { secrets = [], parameters = [], serve }: OutwaitProps,
): FunctionVariables {
  return {
    environment,
    unknown: Object.keys(environment).filter((name) => Token.isUnresolved(environment[name])),
    ...defined({
      secrets: secrets.some((name) => Token.isUnresolved(name)) ? undefined : secrets,
      parameters: parameters.some((name) => Token.isUnresolved(name)) ? undefined : parameters,
      serves: serve === undefined ? undefined : serve !== false,
    }),
  };
}

/**
 * Keeps old versions: an invocation of the previous one may go on for 15 minutes, and deleting the version could end a
 * long step. A version whose deployment failed is deleted, since Lambda publishes the same code again only after that.
 */
const keptVersions = { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE } as const;

interface FunctionParts {
  readonly id: string;
  readonly name: FunctionName;
  readonly props: OutwaitProps;
  readonly environment: Record<string, string>;
  readonly bundles: FunctionBundles;
}

function createFunction(scope: Construct, { id, name, props, environment, bundles }: FunctionParts): LambdaFunction {
  const { timeoutMs, memoryMb, recursiveLoop } = functions[name];
  const { vpc } = props;
  const own = props.functions?.[name];
  const logGroup = new LogGroup(scope, `${id}Log`, {
    retention: props.logRetention ?? RetentionDays.ONE_MONTH,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  return new LambdaFunction(scope, id, {
    code: bundles.codeOf(name),
    handler: 'index.handler',
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    timeout: Duration.millis(timeoutMs),
    memorySize: own?.memoryMb ?? memoryMb,
    environment,
    logGroup,
    role: createRole(scope, `${id}Role`, logGroup, vpc !== undefined),
    recursiveLoop: recursiveLoop === 'allow' ? RecursiveLoop.ALLOW : RecursiveLoop.TERMINATE,
    ...defined({
      currentVersionOptions: props.rollout === undefined ? undefined : keptVersions,
      reservedConcurrentExecutions: own?.reservedConcurrency,
      vpc: vpc?.vpc,
      vpcSubnets: vpc?.subnets,
      securityGroups: vpc?.securityGroups === undefined ? undefined : [...vpc.securityGroups],
    }),
  });
}

function createRole(scope: Construct, id: string, logGroup: LogGroup, isInVpc: boolean): Role {
  const role = new Role(scope, id, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  role.addToPolicy(
    new PolicyStatement({ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroup.logGroupArn] }),
  );
  if (isInVpc) {
    role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole'));
    acknowledge(
      role,
      'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]',
      'The actions that create network interfaces support no narrower resource.',
    );
  }
  return role;
}
