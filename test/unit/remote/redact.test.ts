import { expect, test } from 'vitest';
import { redacted } from '../../../lib/remote/endpoint/redact.js';

const secrets = ['canary-token'];
const addresses = ['agent.example:8443'];
const state = 'at agent.example:8443 with canary-token';

test('the state of a task that works is shown, so nothing of ours is left in it', () => {
  const working = { kind: 'working', state } as const;
  expect(redacted(working, secrets, addresses).state).toBe('at [redacted] with [redacted]');
});

test('the state of a question before a start goes back to the server as it came', () => {
  const asked = { kind: 'asked', questions: [], state } as const;
  expect(redacted(asked, secrets, addresses).state).toBe(state);
});
