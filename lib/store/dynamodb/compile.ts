// Compiles the port's data to requests of the AWS SDK. Pure: its tests show what is sent.

import { defined } from '../../base/defined.js';
import type {
  GetItemCommandInput,
  PutItemCommandInput,
  QueryCommandInput,
  TransactWriteItemsCommandInput,
  UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { parseCursor } from '../index-cursor.js';
import {
  type Condition,
  type IndexQuery,
  type Key,
  type Put,
  type Scalar,
  tableIndexes,
  type Update,
  type Write,
} from '../table.js';
import { type Attributes, toAttribute, toAttributes } from './attributes.js';

export function compilePut(tableName: string, put: Put): PutItemCommandInput {
  return { TableName: tableName, ...putBody(put) };
}

export function compileUpdate(tableName: string, update: Update): UpdateItemCommandInput {
  const { UpdateExpression, ...body } = updateBody(update);
  return {
    TableName: tableName,
    // An update may do nothing but create the item; DynamoDB refuses an empty expression.
    ...defined({ UpdateExpression: UpdateExpression === '' ? undefined : UpdateExpression }),
    ...body,
    ReturnValues: 'ALL_NEW',
  };
}

/**
 * Compiles a transaction. `token`, at most 36 characters, is fresh for each transaction and the same for each attempt:
 * if a repeat comes within ten minutes of an applied transaction, DynamoDB reports success without applying it again.
 */
export function compileTransaction(
  tableName: string,
  writes: readonly Write[],
  token: string,
): TransactWriteItemsCommandInput {
  return {
    ClientRequestToken: token,
    TransactItems: writes.map((write) =>
      write.kind === 'put'
        ? { Put: { TableName: tableName, ...putBody(write) } }
        : { Update: { TableName: tableName, ...updateBody(write) } },
    ),
  };
}

export function compileGet(tableName: string, { pk, sk }: Key, attributes?: readonly string[]): GetItemCommandInput {
  const expression = new Expression();
  return {
    TableName: tableName,
    Key: toAttributes({ pk, sk }),
    ConsistentRead: true,
    ...projectionOf(attributes, expression),
    ...expression.aliases(),
  };
}

function projectionOf(attributes: readonly string[] | undefined, expression: Expression) {
  if (attributes === undefined) return {};
  const names = new Set(['pk', 'sk', ...attributes]);
  return { ProjectionExpression: [...names].map((name) => expression.name(name)).join(', ') };
}

interface PartitionQuery {
  readonly pk: string;
  readonly skPrefix: string | undefined;
  readonly attributes?: readonly string[] | undefined;
}

/** Compiles the query of one page; `startKey` is the `LastEvaluatedKey` of the previous page. */
export function compilePartitionQuery(
  tableName: string,
  { pk, skPrefix, attributes }: PartitionQuery,
  startKey: Attributes | undefined,
): QueryCommandInput {
  const expression = new Expression();
  const clauses = [`${expression.name('pk')} = ${expression.value(pk)}`];
  if (skPrefix !== undefined && skPrefix !== '') {
    clauses.push(`begins_with(${expression.name('sk')}, ${expression.value(skPrefix)})`);
  }
  return {
    TableName: tableName,
    ConsistentRead: true,
    KeyConditionExpression: clauses.join(' AND '),
    ...projectionOf(attributes, expression),
    ...expression.aliases(),
    ...defined({ ExclusiveStartKey: startKey }),
  };
}

/** Compiles a query of an index. Throws EngineError `INPUT_INVALID` for a cursor of another query. */
export function compileIndexQuery(tableName: string, query: IndexQuery): QueryCommandInput {
  const { partition, sort } = tableIndexes[query.index];
  const after = parseCursor(query);
  const expression = new Expression();
  const clauses = [`${expression.name(partition)} = ${expression.value(query.partition)}`];
  if (query.until !== undefined) clauses.push(`${expression.name(sort)} <= ${expression.value(query.until)}`);
  return {
    TableName: tableName,
    IndexName: query.index,
    KeyConditionExpression: clauses.join(' AND '),
    ...expression.aliases(),
    ScanIndexForward: query.order === 'ascending',
    Limit: query.limit,
    ...defined({
      ExclusiveStartKey:
        after === undefined
          ? undefined
          : toAttributes({
              pk: after.pk,
              sk: after.sk,
              [partition]: query.partition,
              [sort]: after.sort,
            }),
    }),
  };
}

function putBody(put: Put) {
  const expression = new Expression();
  return {
    Item: toAttributes(put.item),
    ...conditionOf(put.conditions, expression),
    ...expression.aliases(),
  };
}

function updateBody(update: Update) {
  const expression = new Expression();
  const { pk, sk } = update.key;
  return {
    Key: toAttributes({ pk, sk }),
    UpdateExpression: updateExpression(update, expression),
    ...conditionOf(update.conditions, expression),
    ...expression.aliases(),
  };
}

function updateExpression({ set = {}, remove = [], increment = {} }: Update, expression: Expression): string {
  const sets = Object.entries(set).map(([name, value]) => `${expression.name(name)} = ${expression.value(value)}`);
  const removes = remove.map((name) => expression.name(name));
  const adds = Object.entries(increment).map(([name, by]) => `${expression.name(name)} ${expression.value(by)}`);
  return [section('SET', sets), section('REMOVE', removes), section('ADD', adds)]
    .filter((text) => text !== '')
    .join(' ');
}

function section(word: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : `${word} ${parts.join(', ')}`;
}

function conditionOf(conditions: readonly Condition[], expression: Expression) {
  if (conditions.length === 0) return {};
  return {
    ConditionExpression: conditions.map((condition) => clauseOf(condition, expression)).join(' AND '),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const;
}

function clauseOf(condition: Condition, expression: Expression): string {
  switch (condition.kind) {
    case 'itemExists':
      return `attribute_exists(${expression.name('pk')})`;
    case 'itemAbsent':
      return `attribute_not_exists(${expression.name('pk')})`;
    case 'absent':
      return `attribute_not_exists(${expression.name(condition.attribute)})`;
    case 'present':
      return `attribute_exists(${expression.name(condition.attribute)})`;
    case 'equals':
      return `${expression.name(condition.attribute)} = ${expression.value(condition.value)}`;
    case 'absentOrAtMost': {
      const name = expression.name(condition.attribute);
      return `(attribute_not_exists(${name}) OR ${name} <= ${expression.value(condition.value)})`;
    }
    case 'absentOrAbove': {
      const name = expression.name(condition.attribute);
      return `(attribute_not_exists(${name}) OR ${name} > ${expression.value(condition.value)})`;
    }
  }
}

/** Names and values of one request. Every name is aliased, so that none conflicts with a reserved word. */
class Expression {
  readonly #names = new Map<string, string>();
  readonly #values: Scalar[] = [];

  name(attribute: string): string {
    const known = this.#names.get(attribute);
    if (known !== undefined) return known;
    const alias = `#n${this.#names.size}`;
    this.#names.set(attribute, alias);
    return alias;
  }

  value(value: Scalar): string {
    return `:v${this.#values.push(value) - 1}`;
  }

  aliases(): { ExpressionAttributeNames?: Record<string, string>; ExpressionAttributeValues?: Attributes } {
    const names = [...this.#names].map(([attribute, alias]) => [alias, attribute]);
    const values = this.#values.map((value, index) => [`:v${index}`, toAttribute(value)]);
    return defined({
      ExpressionAttributeNames: names.length === 0 ? undefined : (Object.fromEntries(names) as Record<string, string>),
      ExpressionAttributeValues: values.length === 0 ? undefined : (Object.fromEntries(values) as Attributes),
    });
  }
}
