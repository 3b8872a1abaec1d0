import { describe, expect, it } from 'vitest';
import { createDeps } from '../../../lib/aws/create-deps.js';
import {
  readEnv,
  readManagementAccess,
  readManagementToken,
  readPayloadKeySources,
} from '../../../lib/topology/env.js';
import { createPayloadCipher, parseTokenKeys } from '../../../lib/aws/keys.js';
import { defineApp } from '../../../lib/workflow/app.js';

const managementToken = 'a-management-token-of-33-letters';
const complete = {
  OUTWAIT_TABLE: 'outwait',
  OUTWAIT_TURN_QUEUE_URL: 'https://sqs.example.com/1/turn.fifo',
  OUTWAIT_WORK_QUEUE_URL: 'https://sqs.example.com/1/work',
  OUTWAIT_STEP_QUEUE_URL: 'https://sqs.example.com/1/step',
  OUTWAIT_START_QUEUE_URL: 'https://sqs.example.com/1/start',
  OUTWAIT_SLOW_QUEUE_URL: 'https://sqs.example.com/1/slow',
  OUTWAIT_TOKEN_KEYS: `k1:${'A'.repeat(43)}`,
};

describe('the environment of a function', () => {
  it('is read with its defaults', () => {
    expect(readEnv(complete)).toEqual({
      table: 'outwait',
      turnQueueUrl: 'https://sqs.example.com/1/turn.fifo',
      workQueueUrl: 'https://sqs.example.com/1/work',
      stepQueueUrl: 'https://sqs.example.com/1/step',
      startQueueUrl: 'https://sqs.example.com/1/start',
      slowQueueUrl: 'https://sqs.example.com/1/slow',
      tokenKeys: { kind: 'text', text: `k1:${'A'.repeat(43)}` },
      plainPayloads: 'read',
      dueShards: 16,
      logLevel: 'info',
    });
  });

  it('names every variable that is missing or empty', () => {
    expect(() => readEnv({ OUTWAIT_TABLE: 'outwait', OUTWAIT_TOKEN_KEYS: '' })).toThrow(
      'environment variables are missing: OUTWAIT_TURN_QUEUE_URL, OUTWAIT_WORK_QUEUE_URL, OUTWAIT_STEP_QUEUE_URL, OUTWAIT_START_QUEUE_URL, OUTWAIT_SLOW_QUEUE_URL, OUTWAIT_TOKEN_KEYS',
    );
  });

  it('has token keys as a text or in a secret, and not both', () => {
    const { OUTWAIT_TOKEN_KEYS: text, ...others } = complete;
    const secret = { ...others, OUTWAIT_TOKEN_KEYS_SECRET: 'outwait/tokens' };
    expect(readEnv(secret).tokenKeys).toEqual({ kind: 'secret', secretId: 'outwait/tokens' });
    expect(() => readEnv({ ...secret, OUTWAIT_TOKEN_KEYS: text })).toThrow(
      'only one of OUTWAIT_TOKEN_KEYS and OUTWAIT_TOKEN_KEYS_SECRET may be set',
    );
  });

  it('says who may use the management routes: no caller, the holder of a token, or callers that an authorizer admits', () => {
    expect(readManagementAccess({ OUTWAIT_MANAGEMENT_TOKEN: '' })).toEqual({ kind: 'token', tokens: [] });
    expect(readManagementAccess({ OUTWAIT_MANAGEMENT_TOKEN: managementToken })).toEqual({
      kind: 'token',
      tokens: [{ kind: 'text', text: managementToken }],
    });
    expect(readManagementAccess({ OUTWAIT_MANAGEMENT_TOKEN_SECRET: 'outwait/management' })).toEqual({
      kind: 'token',
      tokens: [{ kind: 'secret', secretId: 'outwait/management' }],
    });
    expect(readManagementAccess({ OUTWAIT_MANAGEMENT_ACCESS: 'authorizer' })).toEqual({ kind: 'authorizer' });
    expect(() => readManagementAccess({ OUTWAIT_MANAGEMENT_ACCESS: 'everybody' })).toThrow(
      'OUTWAIT_MANAGEMENT_ACCESS must be one of token, authorizer',
    );
  });

  it('F92 has one management token as it is, and more of them as a list of secrets', () => {
    const withComma = 'one-half-of-a-token,the-other';
    expect(readManagementAccess({ OUTWAIT_MANAGEMENT_TOKEN: withComma })).toEqual({
      kind: 'token',
      tokens: [{ kind: 'text', text: withComma }],
    });
    expect(readManagementAccess({ OUTWAIT_MANAGEMENT_TOKEN_SECRET: 'outwait/new, outwait/old' })).toEqual({
      kind: 'token',
      tokens: [
        { kind: 'secret', secretId: 'outwait/new' },
        { kind: 'secret', secretId: 'outwait/old' },
      ],
    });
  });

  it.each([
    ['m', 'it has 1'],
    ['x'.repeat(23), 'it has 23'],
    ['a token with blanks in it, long enough', 'it has others'],
    ['a-token-with-ümlauts-in-it', 'it has others'],
    ['a-token-with-a\u0000-in-it-that-is-long', 'it has others'],
  ])('F92 refuses at its start a management token that is short or cannot be sent: %j', (token, problem) => {
    const refused = 'OUTWAIT_MANAGEMENT_TOKEN must have at least 24 characters, all of them visible ASCII; ' + problem;
    expect(() => readManagementAccess({ OUTWAIT_MANAGEMENT_TOKEN: token })).toThrow(refused);
    expect(() => readManagementToken({ OUTWAIT_MANAGEMENT_TOKEN: token })).toThrow(refused);
  });

  it('F92 leaves white space around a token out, which no header carries', () => {
    expect(readManagementToken({ OUTWAIT_MANAGEMENT_TOKEN: ` ${managementToken}\n` })).toBe(managementToken);
  });

  it('has a bus only where one is named', () => {
    const app = defineApp({ workflows: [] });
    const depsOf = (variables: Record<string, string>) => createDeps(readEnv({ ...complete, ...variables }), app);
    expect(readEnv({ ...complete, OUTWAIT_EVENT_BUS: 'default' }).eventBus).toBe('default');
    expect(depsOf({ OUTWAIT_EVENT_BUS: '' })).not.toHaveProperty('bus');
    expect(depsOf({ OUTWAIT_EVENT_BUS: 'default' })).toHaveProperty('bus');
  });

  it('says over how many partitions of the due index markers are spread', () => {
    const shardsOf = (OUTWAIT_DUE_SHARDS: string) => readEnv({ ...complete, OUTWAIT_DUE_SHARDS }).dueShards;
    expect([shardsOf(''), shardsOf('16'), shardsOf('100'), shardsOf('256')]).toEqual([16, 16, 100, 256]);
    const env = readEnv({ ...complete, OUTWAIT_DUE_SHARDS: '100' });
    expect(createDeps(env, defineApp({ workflows: [] })).store.dueShards).toBe(100);
  });

  it.each(['15', '257', '0', '-16', '16.5', '1e2', '0x20', ' 32', 'many'])(
    'refuses %j as the number of these partitions',
    (OUTWAIT_DUE_SHARDS) => {
      expect(() => readEnv({ ...complete, OUTWAIT_DUE_SHARDS })).toThrow(
        expect.objectContaining({
          code: 'CONFIG_INVALID',
          message: 'OUTWAIT_DUE_SHARDS must be a whole number from 16 to 256',
        }) as Error,
      );
    },
  );

  it('says which version of which function runs, if it is a published one', () => {
    const of = (version: string) =>
      readEnv({ ...complete, AWS_LAMBDA_FUNCTION_NAME: 'Outwait-Turn', AWS_LAMBDA_FUNCTION_VERSION: version }).version;
    expect(of('7')).toEqual({ functionName: 'Outwait-Turn', version: '7' });
    expect(of('$LATEST')).toBeUndefined();
  });

  it('refuses an unknown log level', () => {
    expect(() => readEnv({ ...complete, OUTWAIT_LOG_LEVEL: 'loud' })).toThrow(
      'OUTWAIT_LOG_LEVEL must be one of debug, info, warn, error',
    );
  });
});

describe('keys of payloads', () => {
  const payloadKeys = `k1:${'A'.repeat(43)}`;
  const clock = { nowMs: () => 0 };

  it('come from two variables, each none when it is not set, or empty', () => {
    expect(readPayloadKeySources({ OUTWAIT_PAYLOAD_KEYS: payloadKeys, OUTWAIT_PAYLOAD_KMS_KEY: 'alias/a' })).toEqual({
      payloadKeys,
      payloadKmsKey: 'alias/a',
      plainPayloads: 'read',
    });
    const empty = readPayloadKeySources({ OUTWAIT_PAYLOAD_KEYS: '', OUTWAIT_PAYLOAD_KMS_KEY: '' });
    expect(empty).toEqual({ payloadKeys: undefined, payloadKmsKey: undefined, plainPayloads: 'read' });
    expect(createPayloadCipher(empty, clock)).toBeUndefined();
  });

  it('of the configuration seal and open without a KMS key', async () => {
    const cipher = createPayloadCipher({ payloadKeys, payloadKmsKey: undefined }, clock);
    const sealed = (await cipher?.seal('text', 'run 1')) ?? '';
    expect(sealed).toMatch(/^2e:k1:/);
    // The KMS key seals from then on, and is not needed to read older payloads.
    const both = createPayloadCipher({ payloadKeys, payloadKmsKey: 'alias/a' }, clock);
    expect(await both?.open(sealed, 'run 1')).toBe('text');
  });

  it('F90 may be all that is read: what is in the clear is refused by a setting, which needs a key', () => {
    const refuse = readPayloadKeySources({ OUTWAIT_PAYLOAD_KEYS: payloadKeys, OUTWAIT_PLAIN_PAYLOADS: 'refuse' });
    expect(createPayloadCipher(refuse, clock)?.refusesPlaintext).toBe(true);
    expect(createPayloadCipher({ ...refuse, plainPayloads: 'read' }, clock)?.refusesPlaintext).toBe(false);
    expect(() => createPayloadCipher({ ...refuse, payloadKeys: undefined }, clock)).toThrow(
      'payloads in the clear are refused, but no payload key is configured',
    );
    expect(() => readPayloadKeySources({ OUTWAIT_PLAIN_PAYLOADS: 'no' })).toThrow(
      'OUTWAIT_PLAIN_PAYLOADS must be one of read, refuse',
    );
  });

  it('are refused by position, without their text', () => {
    expect(() => createPayloadCipher({ payloadKeys: `${payloadKeys},k2`, payloadKmsKey: undefined }, clock)).toThrow(
      'payload key 2 must have the form keyId:base64url',
    );
    expect(() => createPayloadCipher({ payloadKeys: 'k1:AAAA', payloadKmsKey: undefined }, clock)).toThrow(
      'payload key k1 must be 32 bytes, got 3',
    );
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
