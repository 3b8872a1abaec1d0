import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Template } from './cloud-assembly.js';
import { identitiesOf } from './identities.js';
import { Rights } from './rights.js';
import { StackResources } from './stack-resources.js';

const endpoints = { aws: 'http://127.0.0.1:1', api: 'http://127.0.0.1:2' };

function resourcesOf(template: Template): StackResources {
  return new StackResources(template, identitiesOf(template, endpoints));
}

it('refuses a type of resources that nothing here stands for', () => {
  expect(() => resourcesOf({ Resources: { Bucket: { Type: 'AWS::S3::Bucket' } } })).toThrow(
    'Bucket is of a type that is not known here: AWS::S3::Bucket',
  );
});

it('refuses a property that nothing here stands for', () => {
  const resources = resourcesOf({ Resources: { Log: { Type: 'AWS::Logs::LogGroup', Properties: { KmsKeyId: 'k' } } } });
  expect(() => resources.take('AWS::Logs::LogGroup', z.strictObject({}))).toThrow(
    /^Log has what is not known here\n.*"KmsKeyId"/,
  );
});

it('refuses a resource that no part has taken, and a reference to none', () => {
  const resources = resourcesOf({ Resources: { Log: { Type: 'AWS::Logs::LogGroup' } } });
  expect(() => {
    resources.expectAllTaken();
  }).toThrow('nothing here stands for Log (AWS::Logs::LogGroup)');
  const lost = { Type: 'AWS::Logs::LogGroup', Properties: { Class: { Ref: 'Other' } } };
  expect(() => resourcesOf({ Resources: { Log: lost } })).toThrow(
    'the template refers to Other, which it does not have',
  );
});

it('reads nothing of the stack but its template and assets', () => {
  const files = readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' });
  const sources = files.filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('apps/'),
  );
  expect(sources.length).toBeGreaterThan(20);
  const imported = sources.flatMap((file) => [
    ...readFileSync(new URL(file, import.meta.url), 'utf8').matchAll(/from '(\.\.\/[^']*|aws-cdk[^']*)'/g),
  ]);
  const paths = [...new Set(imported.map(([, path]) => path))].sort();
  expect(paths).toEqual([
    '../../../lib/base/json.js',
    '../../support/dynoxide.js',
    '../../support/fake-eventbridge.js',
    '../../support/fake-kms.js',
    '../../support/lambda-streaming.js',
    '../../unit/remote/loopback.js',
  ]);
});

const table = 'arn:aws:dynamodb:eu-west-1:000000000000:table/t';
const statement = (grant: object) => ({ Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: table, ...grant });

function rightsWith(...statements: readonly object[]): Rights {
  const Version = '2012-10-17';
  const template = {
    Resources: {
      Policy: {
        Type: 'AWS::IAM::Policy',
        Properties: { PolicyName: 'p', Roles: ['role'], PolicyDocument: { Version, Statement: statements } },
      },
    },
  } as unknown as Template;
  const identities = identitiesOf(template, endpoints);
  return new Rights(new StackResources(template, identities), identities);
}

const get = { action: 'dynamodb:GetItem', resource: table };

it.each([
  ['what is granted', [statement({})], true],
  ['another action', [statement({ Action: 'dynamodb:PutItem' })], false],
  ['another resource', [statement({ Resource: `${table}/index/due` })], false],
  ['a dot for any character', [statement({ Resource: table.replace('eu-west-1', 'eu.west.1') })], false],
  ['all actions of a service', [statement({ Action: 'dynamodb:*' })], true],
  ['six characters more', [statement({ Resource: table.replace(/.{6}$/, '??????') })], true],
  ['what is denied elsewhere', [statement({}), statement({ Effect: 'Deny', Action: '*' })], false],
  ['a condition that holds', [statement({ Condition: { Bool: { 'aws:SecureTransport': 'true' } } })], true],
  ['a condition that does not', [statement({ Condition: { Bool: { 'aws:SecureTransport': 'false' } } })], false],
])('a role may: %s', (_, statements, expected) => {
  const rights = rightsWith(...statements);
  expect(rights.allows({ role: 'role' }, get, { 'aws:SecureTransport': 'true' })).toBe(expected);
  expect(rights.allows({ role: 'other' }, get, { 'aws:SecureTransport': 'true' })).toBe(false);
});

it('knows which of two grants of the same is of no use, and refuses conditions that it does not know', () => {
  const rights = rightsWith(statement({}), statement({ Action: '*' }));
  expect(rights.allows({ role: 'role' }, get, {})).toBe(true);
  expect(rights.grants().map(({ uses }) => uses)).toEqual([1, 0]);
  const unknown = { StringEqualsIfExists: { 'aws:SecureTransport': 'true' } };
  expect(() =>
    rightsWith(statement({ Condition: unknown })).allows({ role: 'role' }, get, { 'aws:SecureTransport': 'true' }),
  ).toThrow('the condition operator StringEqualsIfExists is not known here');
});
