import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/base/json.js';
import { type Names, resolve } from './intrinsics.js';

const names: Names = {
  ref: (logicalId) => `ref-of-${logicalId}`,
  attribute: (logicalId, attribute) => `${attribute}-of-${logicalId}`,
};

describe('a part of a template', () => {
  it.each<[JsonValue, JsonValue]>([
    [{ Ref: 'Table' }, 'ref-of-Table'],
    [{ Ref: 'AWS::Region' }, 'eu-west-1'],
    [{ 'Fn::GetAtt': ['Table', 'Arn'] }, 'Arn-of-Table'],
    [{ 'Fn::GetAtt': 'Table.Arn' }, 'Arn-of-Table'],
    [{ 'Fn::Join': ['/', [{ Ref: 'Table' }, 'index']] }, 'ref-of-Table/index'],
    [{ 'Fn::Select': [1, { 'Fn::Split': ['-', { Ref: 'Table' }] }] }, 'of'],
    [
      { 'Fn::Sub': 'a-${AWS::AccountId}-${Table}-${Table.Arn}-${!Kept}' },
      'a-000000000000-ref-of-Table-Arn-of-Table-${Kept}',
    ],
    [{ 'Fn::Sub': ['${Own}-${Table}', { Own: { Ref: 'Queue' } }] }, 'ref-of-Queue-ref-of-Table'],
    [{ a: [1, true, null, { b: { Ref: 'Table' } }] }, { a: [1, true, null, { b: 'ref-of-Table' }] }],
  ])('%j is %j', (value, expected) => {
    expect(resolve(value, names)).toEqual(expected);
  });

  it.each<[JsonValue, string]>([
    [{ 'Fn::If': ['IsLarge', 1, 2] }, 'the function Fn::If is not known here'],
    [{ Ref: 'AWS::StackId' }, 'the pseudo parameter AWS::StackId is not known here'],
    [{ 'Fn::Join': ['', 'text'] }, 'Fn::Join of this form is not known here: "text"'],
  ])('%j is refused', (value, message) => {
    expect(() => resolve(value, names)).toThrow(message);
  });
});
