import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const sizes = defineWorkflow<{ text: string }>({
  name: 'sizes',
  run: (_ctx, { text }) => Promise.resolve(text.length),
});
const bin = fileURLToPath(new URL('../../../bin/outwait.js', import.meta.url));

let engine: LocalEngine;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-payloads-'));
  engine = await startLocalEngine({
    app: defineApp({ workflows: [sizes] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(async () => {
  await engine.stop();
  await rm(folder, { recursive: true });
});

async function aFile(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

/** Runs the command line as a process that reads `text` from stdin. */
async function withStdin(
  text: string,
  ...args: readonly string[]
): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [bin, ...args]);
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  child.stdin.end(text);
  const code = await new Promise<number>((resolve) => child.once('close', resolve));
  return { code, out, err };
}

describe('a payload', () => {
  it('comes from a file, however long (F45)', async () => {
    const file = await aFile('long.json', JSON.stringify({ text: 'x'.repeat(200_000) }));
    const { code, out } = await run('start', 'sizes', '--input', `@${file}`, '--wait', '--url', engine.url);
    expect(code).toBe(0);
    expect(out).toContain('completed: 200000');
  });

  it('comes from stdin (F45)', async () => {
    const input = JSON.stringify({ text: 'x'.repeat(300_000) });
    const { code, out, err } = await withStdin(input, 'start', 'sizes', '--input', '-', '--wait', '--url', engine.url);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('completed: 300000');
  });

  it('from an empty stdin is refused (F45)', async () => {
    expect(await withStdin('', 'start', 'sizes', '--input', '-')).toEqual({
      code: 2,
      out: '',
      err: 'outwait: --input: stdin is empty. It must be JSON\n',
    });
  });
});

describe('a payload that cannot be taken (F45)', () => {
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    return err;
  };

  it('names the file that is missing', async () => {
    expect(await refused('start', 'sizes', '--input', '@nope.json')).toBe(
      'outwait: --input: there is no file nope.json\n',
    );
    expect(await refused('signal', 'x'.repeat(8), 'go', '--payload', '@')).toBe(
      'outwait: --payload: the name of the file is missing after @\n',
    );
    expect(await refused('start', 'sizes', '--input', `@${folder}`)).toBe(`outwait: --input: ${folder} is a folder\n`);
  });

  it('shows line, column and what stands there', async () => {
    const file = await aFile('bad.json', '{\n  "month": "2026-10"\n  "rows": 3\n}\n');
    expect(await refused('start', 'sizes', '--input', `@${file}`)).toBe(
      `outwait: --input: ${file} is not JSON at line 3, column 3: expected a comma. It must be JSON\n` +
        '    "rows": 3\n    ^\n',
    );
    expect(await refused('start', 'sizes', '--input', '{month:1}')).toBe(
      'outwait: --input: the argument is not JSON at line 1, column 2: expected a value: text in double quotes, a number, true, false, null, { or [. ' +
        `It must be JSON, for example '{"month":"2026-11"}', or @file, or - for stdin\n  {month:1}\n   ^\n`,
    );
  });

  it('shows only the place of a long line, and no control characters', async () => {
    const file = await aFile('long-line.json', `{"a":"${'x'.repeat(500)}","b":\u0007tru,"c":"${'y'.repeat(500)}"}`);
    const err = await refused('start', 'sizes', '--input', `@${file}`);
    const [, excerpt = '', mark = ''] = err.split('\n');
    expect(excerpt).toMatch(/^ {2}…x+","b":\\u\{7\}tru,"c":"y+…$/);
    expect(mark.trim()).toBe('^');
  });

  it('says what is too long, or not text', async () => {
    const long = await aFile('too-long.json', `"${'x'.repeat(4 * 1024 * 1024)}"`);
    expect(await refused('start', 'sizes', '--input', `@${long}`)).toBe(
      `outwait: --input: ${long} has more than the 4 MiB that the engine takes\n`,
    );
    const bytes = await aFile('bytes.json', new Uint8Array([0x22, 0xff, 0x22]));
    expect(await refused('start', 'sizes', '--input', `@${bytes}`)).toBe(
      `outwait: --input: ${bytes} is not text in UTF-8\n`,
    );
  });

  it('is not given twice', async () => {
    const file = await aFile('good.json', '{}');
    expect(await refused('start', 'sizes', '--input', '{}', '--input', `@${file}`)).toBe(
      'outwait: --input is given twice\n',
    );
  });
});
