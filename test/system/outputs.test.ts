import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Outputs, type Output } from '../support/outputs/outputs.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a file of planted leaks as all tests are run. */
async function testRun(name: string) {
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    name,
    '--config',
    'test/support/outputs/planted/vitest.config.ts',
  ];
  const child = spawn(process.execPath, [...vitest, '--root', '.'], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1', VITEST: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  return { code, said: out + err };
}

describe('the whole suite', () => {
  it('fails a file whose tests pass while the engine writes what it must not, and names each leak', async () => {
    const { code, said } = await testRun('leaks');
    expect(said).toMatch(/Tests +5 passed/);
    expect(code).toBe(1);
    for (const output of ['log', 'metric', 'event', 'trace']) {
      for (const [what, count] of [
        ['a secret', 2],
        ['the id of a remote task', 1],
        // By its form and by its last part, which is all that is left of it in the log; and the secret of a push.
        ['a token', output === 'log' ? 2 : 3],
      ] as const)
        expect([output, what, new Set(said.match(new RegExp(`"${output}: ${what}.*`, 'g'))).size]).toEqual([
          output,
          what,
          count,
        ]);
    }
  });

  it('passes a file without', async () => {
    expect(await testRun('none')).toMatchObject({ code: 0 });
  });
});

describe('a text that left the engine', () => {
  const token = `${'0a'.repeat(16)}.12.k1.${'aB3_'.repeat(10)}xyz`;
  const secret = 'my-canary-4711';
  const forms: Readonly<Record<string, (text: string) => string>> = {
    plain: (text) => text,
    base64: (text) => Buffer.from(text).toString('base64'),
    'base64 with a letter before': (text) => Buffer.from(`x${text}`).toString('base64'),
    'base64 with two letters before': (text) => Buffer.from(`xy${text}`).toString('base64'),
    base64url: (text) => Buffer.from(text).toString('base64url'),
    hex: (text) => Buffer.from(text).toString('hex'),
    'hex in capitals': (text) => Buffer.from(text).toString('hex').toUpperCase(),
    'percent-encoded': (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join(''),
  };
  const found = (output: Output, written: string, known: (outputs: Outputs) => void = () => undefined) => {
    const outputs = new Outputs('/work/canary/');
    known(outputs);
    outputs.hear(output, written);
    return outputs.leaks().length > 0;
  };

  it.each(Object.keys(forms))('is found to hold a secret or a token that is %s', (form) => {
    const coded = forms[form] ?? String;
    for (const output of ['log', 'metric', 'event', 'trace'] as const) {
      expect(found(output, `{"event":"x","note":"of ${coded(secret)} then"}`)).toBe(true);
      expect(found(output, `{"event":"x","note":"of ${coded(token)} then"}`)).toBe(true);
    }
  });

  it.each(['plain', 'base64', 'base64url', 'hex', 'percent-encoded'])(
    'is found to hold a task id that is %s',
    (form) => {
      const coded = forms[form] ?? String;
      for (const taskId of ['task-1', 'task/1 ü'])
        expect(
          found('log', `no task "${coded(taskId)}".`, (outputs) => {
            outputs.addTaskId(taskId);
          }),
        ).toBe(true);
    },
  );

  it.each([
    ['a named key', `owk_ci.${'0a'.repeat(32)}`],
    ['a signed token', 'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJlLi4u'],
    ['the secret of a webhook', `whsec_${'Aa0+'.repeat(8)}`],
    ['a secret in the escapes of JSON', '\\u0063\\u0061\\u006e\\u0061\\u0072\\u0079'],
  ])('is found to hold %s', (_, text) => {
    expect(found('log', `{"note":"${text}"}`)).toBe(true);
  });

  it('may hold the id of a run, a trace, paths of the project and words that are part of a task id', () => {
    const ids = `${'0a'.repeat(16)}.12 00-${'0a'.repeat(16)}-${'0b'.repeat(8)}-01`;
    const stack = 'at run (/work/canary/lib/log.ts:1:1) at secrets-canary.test.ts:12';
    expect(
      found('log', `${ids} ${stack} task`, (outputs) => {
        outputs.addTaskId('task-1');
      }),
    ).toBe(false);
  });
});
