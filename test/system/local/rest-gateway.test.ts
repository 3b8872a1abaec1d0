import { expect, it } from 'vitest';
import { isServed } from '../../../lib/local/rest-gateway.js';

it.each([
  ['/a2a', true],
  ['/a2a/rest/tasks?pageSize=1', true],
  ['/agents/report/a2a', true],
  ['/.well-known/agent-card.json', true],
  ['/a2ab', false],
  ['/runs?x=/a2a', false],
  ['//no host"', false],
  ['*', false],
])('the request target %s is for a door of served workflows: %s', (url, served) => {
  expect(isServed({ url })).toBe(served);
});
