import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../../lib/base/errors.js';
import type { AwsSecrets } from '../../../../lib/secrets/aws-secrets.js';
import { describeSource, SecretReader } from '../../../../lib/secrets/secret-reader.js';
import { Secret } from '../../../../lib/secrets/secret.js';
import { secret, secretsManager, ssmParameter } from '../../../../lib/workflow/server-auth.js';

describe('Secret', () => {
  it('K7: does not print', () => {
    const value = new Secret('canary');
    const texts = [
      String(value),
      value.toString(),
      JSON.stringify({ value }),
      inspect({ value }, { showHidden: true, depth: 9 }),
    ];
    expect(texts.map((text) => text.includes('canary'))).toEqual([false, false, false, false]);
    expect(value.reveal()).toBe('canary');
  });
});

/** A stand-in of AWS that answers as the test says, and counts. */
class Aws implements AwsSecrets {
  value: string | undefined = 'first';
  isAway = false;
  readonly asked: string[] = [];

  async readParameter(name: string): Promise<string | undefined> {
    return this.#answer(`parameter ${name}`);
  }

  async readSecret(id: string): Promise<string | undefined> {
    return this.#answer(`secret ${id}`);
  }

  #answer(what: string): string | undefined {
    this.asked.push(what);
    if (this.isAway) throw new EngineError('REMOTE_UNREACHABLE', 'a secret of the server cannot be read (Throttled)');
    return this.value;
  }
}

function aReader() {
  const aws = new Aws();
  const clock = { atMs: 0 };
  const environment: Record<string, string> = { A: 'one' };
  const reader = new SecretReader({ aws, clock: { nowMs: () => clock.atMs }, readSecret: (name) => environment[name] });
  const read = async (source: Parameters<SecretReader['read']>[0]) => (await reader.read(source))?.reveal();
  return { aws, clock, environment, reader, read };
}

describe('SecretReader', () => {
  it('reads the environment each time', async () => {
    const { environment, read } = aReader();
    expect(await read(secret('A'))).toBe('one');
    environment['A'] = 'two';
    expect(await read(secret('A'))).toBe('two');
    expect(await read(secret('B'))).toBeUndefined();
    expect(await read('literal')).toBe('literal');
  });

  it('asks AWS once in a minute, however many want it', async () => {
    const { aws, clock, read } = aReader();
    const parameter = ssmParameter('/outwait/token');
    expect(await Promise.all([read(parameter), read(parameter)])).toEqual(['first', 'first']);
    aws.value = 'second';
    clock.atMs = 59_999;
    expect(await read(parameter)).toBe('first');
    clock.atMs = 60_000;
    expect(await read(parameter)).toBe('second');
    expect(aws.asked).toEqual(['parameter /outwait/token', 'parameter /outwait/token']);
  });

  it('asks at once when what it had was refused', async () => {
    const { aws, reader, read } = aReader();
    expect(reader.forget([ssmParameter('/a'), secret('A'), 'text'])).toBe(false);
    await read(ssmParameter('/a'));
    aws.value = 'second';
    expect(reader.forget([ssmParameter('/a')])).toBe(true);
    expect(await read(ssmParameter('/a'))).toBe('second');
  });

  it('goes on with what it has for an hour while AWS cannot be asked', async () => {
    const { aws, clock, read } = aReader();
    await read(secretsManager('api'));
    aws.isAway = true;
    clock.atMs = 3_599_999;
    expect(await read(secretsManager('api'))).toBe('first');
    clock.atMs = 3_600_000;
    await expect(read(secretsManager('api'))).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE' });
  });

  it.each([
    ['{"token":"abc","n":1}', 'token', 'abc'],
    ['{"token":"abc","n":1}', 'n', undefined],
    ['{"token":"abc"}', 'toString', undefined],
    ['{"token":"abc"}', 'other', undefined],
    ['not json', 'token', undefined],
    ['["token"]', '0', undefined],
    [undefined, 'token', undefined],
  ])('of the secret %s the field %s is %s', async (value, field, expected) => {
    const { aws, read } = aReader();
    aws.value = value;
    expect(await read(secretsManager('api', { field }))).toBe(expected);
  });

  it('an empty value counts as missing', async () => {
    const { aws, read } = aReader();
    aws.value = '';
    expect(await read(ssmParameter('/a'))).toBeUndefined();
  });

  it.each([
    [secret('A'), 'the secret "A"'],
    [ssmParameter('/a'), 'the secret "/a"'],
    [secretsManager('api', { field: 'token' }), 'the secret "api", field "token",'],
    ['canary', 'a secret'],
  ])('speaks of %j as %s', (source, text) => {
    expect(describeSource(source)).toBe(text);
  });
});
