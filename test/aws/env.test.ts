import { describe, expect, it } from 'vitest';
import { readEnv } from '../../lib/aws/env.js';
import { parseTokenKeys } from '../../lib/aws/keys.js';

const complete = {
  OUTWAIT_TABLE: 'outwait',
  OUTWAIT_TURN_QUEUE_URL: 'https://sqs.example.com/1/turn.fifo',
  OUTWAIT_WORK_QUEUE_URL: 'https://sqs.example.com/1/work',
  OUTWAIT_STEP_QUEUE_URL: 'https://sqs.example.com/1/step',
  OUTWAIT_TOKEN_KEYS: `k1:${'A'.repeat(43)}`,
};

describe('the environment of a function', () => {
  it('is read with its defaults', () => {
    expect(readEnv(complete)).toEqual({
      table: 'outwait',
      turnQueueUrl: 'https://sqs.example.com/1/turn.fifo',
      workQueueUrl: 'https://sqs.example.com/1/work',
      stepQueueUrl: 'https://sqs.example.com/1/step',
      tokenKeys: `k1:${'A'.repeat(43)}`,
      managementToken: undefined,
      logLevel: 'info',
    });
  });

  it('names every variable that is missing or empty', () => {
    expect(() => readEnv({ OUTWAIT_TABLE: 'outwait', OUTWAIT_TOKEN_KEYS: '' })).toThrow(
      'environment variables are missing: OUTWAIT_TURN_QUEUE_URL, OUTWAIT_WORK_QUEUE_URL, OUTWAIT_STEP_QUEUE_URL, OUTWAIT_TOKEN_KEYS',
    );
  });

  it('refuses a log level that is none, and takes an empty management token for none', () => {
    expect(() => readEnv({ ...complete, OUTWAIT_LOG_LEVEL: 'loud' })).toThrow(
      'OUTWAIT_LOG_LEVEL must be one of debug, info, warn, error',
    );
    expect(readEnv({ ...complete, OUTWAIT_MANAGEMENT_TOKEN: '' }).managementToken).toBeUndefined();
  });
});

describe('token keys', () => {
  const [first, second] = ['A'.repeat(43), `${'_'.repeat(42)}8`];
  const target = { runId: '0'.repeat(32), waitId: '1' };

  it('sign with the first and verify with all', () => {
    const before = parseTokenKeys(`old:${first}`);
    const after = parseTokenKeys(`new:${second}, old:${first}`);
    expect(after.parseSettleToken(before.settleToken(target))).toEqual(target);
    expect(after.settleToken(target)).toContain('.new.');
    expect(() => before.parseSettleToken(after.settleToken(target))).toThrow('no wait is known for this token');
  });

  it.each(['', 'k1', 'k1:', ':abc', 'k1:abc:def', 'k1:not base64', `k1:${first},`])(
    'are refused by position, without their text: "%s"',
    (text) => {
      expect(() => parseTokenKeys(text)).toThrow(
        /^(token key [12] must have the form keyId:base64url|a token key id must be 1 to 16 letters or digits)$/,
      );
    },
  );
});
