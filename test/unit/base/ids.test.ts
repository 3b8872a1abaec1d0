import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isRunId, isWaitId, remoteKeyOf, stepKeyOf } from '../../../lib/base/ids.js';

it('a run id is 32 lower-case hex digits', () => {
  expect(isRunId('0123456789abcdef0123456789abcdef')).toBe(true);
  for (const text of [
    '',
    '0'.repeat(31),
    '0'.repeat(33),
    'A'.repeat(32),
    `${'0'.repeat(31)}g`,
    `${'0'.repeat(32)}\n`,
  ]) {
    expect(isRunId(text)).toBe(false);
  }
});

it('a wait id is a positive number without zeros before it', () => {
  for (const text of ['1', '42', '999999999']) expect(isWaitId(text)).toBe(true);
  for (const text of ['', '0', '01', '-1', '1.5', 'a', '1000000000', '1\n']) expect(isWaitId(text)).toBe(false);
});

describe('an idempotency key (S0-12)', () => {
  const runId = '0123456789abcdef0123456789abcdef';
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

  it('of a step is fixed by run and wait', () => {
    expect(stepKeyOf(runId, '7')).toBe('0123456789abcdef0123456789abcdef/7');
  });

  it('of a remote call is fixed by run and wait, and does not give the run id away', () => {
    // Sent with every attempt, so another release must send the same key.
    expect(remoteKeyOf(runId, '7', digest)).toBe('d79be5b89fbbb06d0aa24317d3b1914bbe96793f');
    expect(remoteKeyOf(runId, '8', digest)).not.toBe(remoteKeyOf(runId, '7', digest));
  });
});
