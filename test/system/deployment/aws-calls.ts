import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/base/json.js';
import { arnOf } from './account.js';
import type { Need } from './rights.js';
import type { Secrets } from './secrets.js';

/** Services, by the word that the JSON protocols of AWS use for them in `X-Amz-Target`. */
const services = {
  DynamoDB_20120810: 'dynamodb',
  AmazonSQS: 'sqs',
  secretsmanager: 'secretsmanager',
  AmazonSSM: 'ssm',
  TrentService: 'kms',
  AWSEvents: 'events',
} as const;

export type Service = (typeof services)[keyof typeof services];

/** A request of the AWS SDK, in the JSON protocols. */
export interface AwsCall {
  readonly service: Service;
  readonly operation: string;
  readonly input: JsonObject;
}

/** Reads a request. @throws Error that names a service that is not supported here */
export function readCall(target: string, body: string): AwsCall {
  const [word = '', operation = ''] = target.split('.');
  if (!Object.hasOwn(services, word)) throw new Error(`the service of ${target} is not known here`);
  return { service: services[word as keyof typeof services], operation, input: JSON.parse(body) as JsonObject };
}

/** Returns the rights that the caller needs. @throws Error that names an operation that is not supported here */
export function needsOf({ service, operation, input }: AwsCall, secrets: Pick<Secrets, 'arnOf'>): readonly Need[] {
  const text = (name: string): string => textIn(input, name);
  switch (service) {
    case 'dynamodb':
      return dynamoDbNeeds(operation, input);
    case 'sqs':
      // A batch needs the right to a single operation.
      return [{ action: `sqs:${operation.replace(/Batch$/, '')}`, resource: arnOf('sqs', queueNameOf(input)) }];
    case 'secretsmanager':
      return [{ action: `secretsmanager:${operation}`, resource: secrets.arnOf(text('SecretId')) }];
    case 'ssm':
      return [{ action: `ssm:${operation}`, resource: arnOf('ssm', `parameter/${text('Name').replace(/^\//, '')}`) }];
    case 'kms':
      return [{ action: `kms:${operation}`, resource: keyOf(operation, input) }];
    case 'events':
      return listIn(input, 'Entries').map((entry) => ({
        action: `events:${operation}`,
        resource: busOf(textIn(entry, 'EventBusName', 'default')),
      }));
  }
}

const ofOneItem = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'Scan'];

function dynamoDbNeeds(operation: string, input: JsonObject): readonly Need[] {
  if (ofOneItem.includes(operation)) {
    const { IndexName: index } = input;
    const table = tableOf(input);
    return [
      { action: `dynamodb:${operation}`, resource: typeof index === 'string' ? `${table}/index/${index}` : table },
    ];
  }
  if (operation !== 'TransactWriteItems') throw new Error(`the operation ${operation} is not known here`);
  // A transaction needs the rights of its parts.
  return listIn(input, 'TransactItems').flatMap((item) =>
    Object.entries(item).map(([kind, part]) => ({
      action: kind === 'ConditionCheck' ? 'dynamodb:ConditionCheckItem' : `dynamodb:${kind}Item`,
      resource: tableOf(part as JsonObject),
    })),
  );
}

function tableOf(input: JsonObject): string {
  return arnOf('dynamodb', `table/${textIn(input, 'TableName')}`);
}

/** Returns the name of a queue: the last part of its URL. */
export function queueNameOf(input: JsonObject): string {
  return textIn(input, 'QueueUrl').replace(/^.*\//, '');
}

function busOf(nameOrArn: string): string {
  return nameOrArn.startsWith('arn:') ? nameOrArn : arnOf('events', `event-bus/${nameOrArn}`);
}

/** Returns the key of a request. A wrapped key begins with the id of the key that wrapped it, here as in KMS. */
function keyOf(operation: string, input: JsonObject): string {
  const [keyId = ''] =
    operation === 'Decrypt'
      ? Buffer.from(textIn(input, 'CiphertextBlob'), 'base64').toString('latin1').split(' ')
      : [textIn(input, 'KeyId')];
  return keyId;
}

/** Reads a string of a request. @throws Error if it is missing */
export function textIn(input: JsonObject, name: string, fallback?: string): string {
  const value = input[name] ?? fallback;
  if (typeof value !== 'string') throw new Error(`a request has no ${name}`);
  return value;
}

function listIn(input: JsonObject, name: string): readonly JsonObject[] {
  const value = input[name] as readonly JsonValue[] | undefined;
  return (value ?? []).filter(isJsonObject);
}
