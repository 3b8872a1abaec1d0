import { expect, it } from 'vitest';
import {
  compileGet,
  compileIndexQuery,
  compilePartitionQuery,
  compilePut,
  compileTransaction,
  compileUpdate,
} from '../../../lib/store/dynamodb/compile.js';
import { tableSchema } from '../../../lib/store/dynamodb/schema.js';

it('compiles a put if absent', () => {
  const put = {
    kind: 'put',
    item: { pk: 'run#1', sk: 'h#1', n: 1.5, gone: undefined },
    conditions: [{ kind: 'itemAbsent' }],
  } as const;
  expect(compilePut('T', put)).toEqual({
    TableName: 'T',
    Item: { pk: { S: 'run#1' }, sk: { S: 'h#1' }, n: { N: '1.5' } },
    ConditionExpression: 'attribute_not_exists(#n0)',
    ExpressionAttributeNames: { '#n0': 'pk' },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
});

it('compiles a put without conditions to nothing but the item', () => {
  expect(compilePut('T', { kind: 'put', item: { pk: 'p', sk: 's' }, conditions: [] })).toEqual({
    TableName: 'T',
    Item: { pk: { S: 'p' }, sk: { S: 's' } },
  });
});

it('compiles an update with every clause and every condition, each name once', () => {
  expect(
    compileUpdate('T', {
      kind: 'update',
      key: { pk: 'run#1', sk: 't#1' },
      set: { status: 'ended', dueAtMs: 7 },
      remove: ['handle', 'ttl'],
      increment: { count: 1, left: -1 },
      conditions: [
        { kind: 'itemExists' },
        { kind: 'absent', attribute: 'settledAtMs' },
        { kind: 'present', attribute: 'handle' },
        { kind: 'equals', attribute: 'status', value: 'running' },
        { kind: 'absentOrAtMost', attribute: 'dueSeq', value: 4 },
      ],
    }),
  ).toEqual({
    TableName: 'T',
    Key: { pk: { S: 'run#1' }, sk: { S: 't#1' } },
    UpdateExpression: 'SET #n0 = :v0, #n1 = :v1 REMOVE #n2, #n3 ADD #n4 :v2, #n5 :v3',
    ConditionExpression:
      'attribute_exists(#n6) AND attribute_not_exists(#n7) AND attribute_exists(#n2) AND #n0 = :v4 AND (attribute_not_exists(#n8) OR #n8 <= :v5)',
    ExpressionAttributeNames: {
      '#n0': 'status',
      '#n1': 'dueAtMs',
      '#n2': 'handle',
      '#n3': 'ttl',
      '#n4': 'count',
      '#n5': 'left',
      '#n6': 'pk',
      '#n7': 'settledAtMs',
      '#n8': 'dueSeq',
    },
    ExpressionAttributeValues: {
      ':v0': { S: 'ended' },
      ':v1': { N: '7' },
      ':v2': { N: '1' },
      ':v3': { N: '-1' },
      ':v4': { S: 'running' },
      ':v5': { N: '4' },
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ReturnValues: 'ALL_NEW',
  });
});

it('compiles an update that changes nothing without an expression', () => {
  expect(compileUpdate('T', { kind: 'update', key: { pk: 'p', sk: 's' }, set: {}, conditions: [] })).toEqual({
    TableName: 'T',
    Key: { pk: { S: 'p' }, sk: { S: 's' } },
    ReturnValues: 'ALL_NEW',
  });
});

it('compiles a transaction with its token; each write has its own names', () => {
  const input = compileTransaction(
    'T',
    [
      {
        kind: 'update',
        key: { pk: 'p', sk: 'a' },
        increment: { inboxCount: 1 },
        conditions: [{ kind: 'equals', attribute: 'status', value: 'running' }],
      },
      { kind: 'put', item: { pk: 'p', sk: 'i#1' }, conditions: [{ kind: 'itemAbsent' }] },
    ],
    '0123456789abcdef0123456789abcdef',
  );
  expect(input).toEqual({
    ClientRequestToken: '0123456789abcdef0123456789abcdef',
    TransactItems: [
      {
        Update: {
          TableName: 'T',
          Key: { pk: { S: 'p' }, sk: { S: 'a' } },
          UpdateExpression: 'ADD #n0 :v0',
          ConditionExpression: '#n1 = :v1',
          ExpressionAttributeNames: { '#n0': 'inboxCount', '#n1': 'status' },
          ExpressionAttributeValues: { ':v0': { N: '1' }, ':v1': { S: 'running' } },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      {
        Put: {
          TableName: 'T',
          Item: { pk: { S: 'p' }, sk: { S: 'i#1' } },
          ConditionExpression: 'attribute_not_exists(#n0)',
          ExpressionAttributeNames: { '#n0': 'pk' },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
    ],
  });
});

it('compiles reads of the table as strongly consistent', () => {
  expect(compileGet('T', { pk: 'p', sk: 's' })).toEqual({
    TableName: 'T',
    Key: { pk: { S: 'p' }, sk: { S: 's' } },
    ConsistentRead: true,
  });
  const startKey = { pk: { S: 'p' }, sk: { S: 'h#1' } };
  expect(compilePartitionQuery('T', { pk: 'p', skPrefix: 'h#' }, startKey)).toEqual({
    TableName: 'T',
    ConsistentRead: true,
    KeyConditionExpression: '#n0 = :v0 AND begins_with(#n1, :v1)',
    ExpressionAttributeNames: { '#n0': 'pk', '#n1': 'sk' },
    ExpressionAttributeValues: { ':v0': { S: 'p' }, ':v1': { S: 'h#' } },
    ExclusiveStartKey: startKey,
  });
  expect(compilePartitionQuery('T', { pk: 'p', skPrefix: '' }, undefined).KeyConditionExpression).toBe('#n0 = :v0');
});

it('compiles a query of an index, which cannot be consistent', () => {
  const cursor = Buffer.from('["3",5,"run#1","a"]').toString('base64url');
  expect(
    compileIndexQuery('T', { index: 'due', partition: '3', until: 99, order: 'ascending', limit: 20, cursor }),
  ).toEqual({
    TableName: 'T',
    IndexName: 'due',
    KeyConditionExpression: '#n0 = :v0 AND #n1 <= :v1',
    ExpressionAttributeNames: { '#n0': 'dueShard', '#n1': 'dueAtMs' },
    ExpressionAttributeValues: { ':v0': { S: '3' }, ':v1': { N: '99' } },
    ScanIndexForward: true,
    Limit: 20,
    ExclusiveStartKey: { pk: { S: 'run#1' }, sk: { S: 'a' }, dueShard: { S: '3' }, dueAtMs: { N: '5' } },
  });
  expect(compileIndexQuery('T', { index: 'list', partition: 'running', order: 'descending', limit: 1 })).toEqual({
    TableName: 'T',
    IndexName: 'list',
    KeyConditionExpression: '#n0 = :v0',
    ExpressionAttributeNames: { '#n0': 'listPartition' },
    ExpressionAttributeValues: { ':v0': { S: 'running' } },
    ScanIndexForward: false,
    Limit: 1,
  });
});

it('declares the table with its sparse indexes', () => {
  expect(tableSchema('T')).toEqual({
    TableName: 'T',
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
      { AttributeName: 'dueShard', AttributeType: 'S' },
      { AttributeName: 'dueAtMs', AttributeType: 'N' },
      { AttributeName: 'listPartition', AttributeType: 'S' },
      { AttributeName: 'listSort', AttributeType: 'S' },
      { AttributeName: 'taskPartition', AttributeType: 'S' },
      { AttributeName: 'taskSort', AttributeType: 'S' },
      { AttributeName: 'tenantPartition', AttributeType: 'S' },
    ],
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'due',
        KeySchema: [
          { AttributeName: 'dueShard', KeyType: 'HASH' },
          { AttributeName: 'dueAtMs', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['settledAtMs', 'server', 'stepFailures'] },
      },
      {
        IndexName: 'list',
        KeySchema: [
          { AttributeName: 'listPartition', KeyType: 'HASH' },
          { AttributeName: 'listSort', KeyType: 'RANGE' },
        ],
        Projection: {
          ProjectionType: 'INCLUDE',
          NonKeyAttributes: ['workflow', 'status', 'createdAtMs', 'endedAtMs', 'tags'],
        },
      },
      {
        IndexName: 'task',
        KeySchema: [
          { AttributeName: 'taskPartition', KeyType: 'HASH' },
          { AttributeName: 'taskSort', KeyType: 'RANGE' },
        ],
        Projection: {
          ProjectionType: 'INCLUDE',
          NonKeyAttributes: ['workflow', 'taskState', 'taskStatusAtMs', 'taskContext'],
        },
      },
      {
        IndexName: 'tenant',
        KeySchema: [
          { AttributeName: 'tenantPartition', KeyType: 'HASH' },
          { AttributeName: 'listSort', KeyType: 'RANGE' },
        ],
        Projection: {
          ProjectionType: 'INCLUDE',
          NonKeyAttributes: ['workflow', 'status', 'createdAtMs', 'endedAtMs', 'tags'],
        },
      },
    ],
  });
});
