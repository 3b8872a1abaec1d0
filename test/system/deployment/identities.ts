import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../../lib/base/json.js';
import { account, arnOf } from './account.js';
import type { Template } from './cloud-assembly.js';
import { type Names, resolveText } from './intrinsics.js';

/** Values that CloudFormation returns for `Ref`, and for `Fn::GetAtt` by attribute. */
interface Identity {
  readonly ref: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface Endpoints {
  /** Endpoint of the AWS services. */
  readonly aws: string;
  /** Endpoint of the HTTP API. */
  readonly api: string;
}

/** Returns a name like those that CloudFormation makes for resources without one. */
function generatedName(logicalId: string, end = ''): string {
  return `Outwait-${logicalId.slice(0, 30)}-${randomBytes(6).toString('hex').toUpperCase()}${end}`;
}

/** Identifies a resource. `properties` are as in the template; `resolved` returns one of them as text. */
type Identify = (
  logicalId: string,
  properties: JsonObject,
  given: { readonly endpoints: Endpoints; readonly resolved: (name: string) => string },
) => Identity;

const withoutAttributes: Identify = (logicalId) => ({ ref: generatedName(logicalId), attributes: {} });

/** Supported types of resources. */
const identify: Readonly<Record<string, Identify>> = {
  'AWS::DynamoDB::GlobalTable': (logicalId) => {
    const name = generatedName(logicalId);
    return { ref: name, attributes: { Arn: arnOf('dynamodb', `table/${name}`) } };
  },
  'AWS::SQS::Queue': (logicalId, { FifoQueue: isFifo }, { endpoints: { aws } }) => {
    const name = generatedName(logicalId, isFifo === true ? '.fifo' : '');
    // The SDK sends requests for a queue to the host in its URL.
    return { ref: `${aws}/${account.id}/${name}`, attributes: { Arn: arnOf('sqs', name), QueueName: name } };
  },
  'AWS::SQS::QueuePolicy': withoutAttributes,
  'AWS::SecretsManager::Secret': (logicalId) => ({
    ref: arnOf('secretsmanager', `secret:${generatedName(logicalId)}-${randomBytes(3).toString('hex')}`),
    attributes: {},
  }),
  'AWS::Logs::LogGroup': (logicalId) => {
    const name = generatedName(logicalId);
    return { ref: name, attributes: { Arn: arnOf('logs', `log-group:${name}:*`) } };
  },
  'AWS::IAM::Role': (logicalId) => {
    const name = generatedName(logicalId);
    return { ref: name, attributes: { Arn: `arn:${account.partition}:iam::${account.id}:role/${name}` } };
  },
  'AWS::IAM::Policy': withoutAttributes,
  'AWS::Lambda::Function': (logicalId) => {
    const name = generatedName(logicalId);
    return { ref: name, attributes: { Arn: arnOf('lambda', `function:${name}`) } };
  },
  // A single version of each function is deployed here, once.
  'AWS::Lambda::Version': (_, __, { resolved }) => ({
    ref: `${arnOf('lambda', `function:${resolved('FunctionName')}`)}:1`,
    attributes: { Version: '1' },
  }),
  'AWS::Lambda::Alias': (_, __, { resolved }) => ({
    ref: `${arnOf('lambda', `function:${resolved('FunctionName')}`)}:${resolved('Name')}`,
    attributes: {},
  }),
  'AWS::Lambda::EventSourceMapping': withoutAttributes,
  'AWS::Lambda::EventInvokeConfig': withoutAttributes,
  'AWS::Lambda::Permission': withoutAttributes,
  'AWS::Events::Rule': (logicalId) => {
    const name = generatedName(logicalId);
    return { ref: name, attributes: { Arn: arnOf('events', `rule/${name}`) } };
  },
  'AWS::ApiGatewayV2::Api': (_, __, { endpoints: { api } }) => ({
    ref: randomBytes(5).toString('hex'),
    attributes: { ApiEndpoint: api },
  }),
  'AWS::ApiGatewayV2::Integration': withoutAttributes,
  'AWS::ApiGatewayV2::Route': withoutAttributes,
  'AWS::ApiGatewayV2::Stage': (_, __, { resolved }) => ({ ref: resolved('StageName'), attributes: {} }),
  'AWS::ApiGateway::RestApi': () => ({
    ref: randomBytes(5).toString('hex'),
    attributes: { RootResourceId: randomBytes(5).toString('hex') },
  }),
  'AWS::ApiGateway::Resource': () => ({ ref: randomBytes(3).toString('hex'), attributes: {} }),
  'AWS::ApiGateway::Method': withoutAttributes,
  'AWS::ApiGateway::GatewayResponse': withoutAttributes,
  'AWS::ApiGateway::Deployment': () => ({ ref: randomBytes(3).toString('hex'), attributes: {} }),
  'AWS::ApiGateway::Stage': (_, __, { resolved }) => ({ ref: resolved('StageName'), attributes: {} }),
  'AWS::CloudWatch::Alarm': (logicalId) => {
    const name = generatedName(logicalId);
    return { ref: name, attributes: { Arn: arnOf('cloudwatch', `alarm:${name}`) } };
  },
  'AWS::CloudWatch::Dashboard': withoutAttributes,
};

export interface Identities extends Names {
  /** Replaces each ARN or name of a resource of the stack in a text by the name of the resource in the code. */
  described(text: string): string;
}

/** Names every resource of a template. @throws Error that names a resource whose type is not supported here */
export function identitiesOf(template: Template, endpoints: Endpoints): Identities {
  const { Resources: resources, Parameters: parameters } = template;
  const known = new Map<string, Identity>();
  const find = (logicalId: string): Identity => {
    const resource = resources[logicalId];
    if (resource === undefined) throw new Error(`the template refers to ${logicalId}, which it does not have`);
    const { Type: type, Properties: properties = {} } = resource;
    const make = identify[type];
    if (make === undefined) throw new Error(`${logicalId} is of a type that is not known here: ${type}`);
    const resolved = (name: string): string => resolveText(properties[name] ?? '', names);
    const identity = known.get(logicalId) ?? make(logicalId, properties, { endpoints, resolved });
    known.set(logicalId, identity);
    return identity;
  };
  const names: Names = {
    ref: (logicalId) => parameters?.[logicalId]?.Default ?? find(logicalId).ref,
    attribute: (logicalId, attribute) => {
      const value = find(logicalId).attributes[attribute];
      if (value === undefined) throw new Error(`the attribute ${attribute} of ${logicalId} is not known here`);
      return value;
    },
  };
  const words = Object.keys(resources)
    .flatMap((logicalId) => {
      const { ref, attributes } = find(logicalId);
      return [attributes['Arn'] ?? '', ref].map((text) => [text, plainName(logicalId)] as const);
    })
    .filter(([text]) => text.startsWith('Outwait-') || text.startsWith('arn:'));
  return {
    ...names,
    described: (text) => words.reduce((left, [word, name]) => left.replaceAll(word, name), text),
  };
}

/** Returns the logical id without the name of the construct before it and the hash after it. */
export function plainName(logicalId: string): string {
  return logicalId.replace(/^Outwait/, '').replace(/[0-9A-F]{8}$/, '');
}
