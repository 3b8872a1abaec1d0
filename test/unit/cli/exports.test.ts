import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { run } from './in-process.js';

const idOf = (n: number): string => String(n).padStart(32, '0');

/** Returns the history of a run that waits for the signal "say". */
const historyOf = (runId: string, version = '1') => ({
  format: 1,
  runId,
  workflow: 'talks',
  version,
  seed: 's',
  events: [
    { seq: 1, type: 'RunStarted', atMs: 0, workflow: 'talks', version, behaviors: [] },
    { seq: 1, type: 'SignalWaitStarted', atMs: 0, waitId: '1', name: 'say' },
  ],
});

/** An engine that answers as the test says and records its requests. */
let server: Server;
let url: string;
let folder: string;
let asked: string[] = [];
let answers: Record<string, readonly [status: number, body: object]> = {};

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const [status, body] = answers[request.url ?? ''] ?? [404, { error: { code: 'RUN_NOT_FOUND', message: 'no run' } }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(async () => {
  asked = [];
  answers = {};
  folder = await mkdtemp(join(tmpdir(), 'outwait-exports-'));
  return () => rm(folder, { recursive: true, force: true });
});

function give(...numbers: readonly number[]): void {
  for (const n of numbers) answers[`/runs/${idOf(n)}/history`] = [200, historyOf(idOf(n))];
}

describe('outwait export', () => {
  it('writes the histories of the runs under way, over all pages, each readable by its owner only (EN-11)', async () => {
    answers['/runs?status=running&limit=100&workflow=talks&tag=team%3Aa'] = [
      200,
      { runs: [{ runId: idOf(1) }, { runId: idOf(2) }], cursor: 'c1' },
    ];
    answers['/runs?status=running&limit=100&workflow=talks&tag=team%3Aa&cursor=c1'] = [
      200,
      { runs: [{ runId: idOf(2) }, { runId: idOf(3) }] },
    ];
    give(1, 2, 3);
    const out = join(folder, 'new', 'histories');
    const result = await run('export', out, '--workflow', 'talks', '--tag', 'team=a', '--url', url);
    expect(result).toEqual({ code: 0, out: `3 histories in ${out}\n`, err: '' });
    expect((await readdir(out)).sort()).toEqual([1, 2, 3].map((n) => `${idOf(n)}.json`));
    const file = join(out, `${idOf(2)}.json`);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(historyOf(idOf(2)));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('exports at most the given number of runs, of the given status', async () => {
    answers['/runs?status=completed&limit=2'] = [200, { runs: [{ runId: idOf(1) }, { runId: idOf(2) }], cursor: 'c1' }];
    answers['/runs?status=completed&limit=2&cursor=c1'] = [200, { runs: [{ runId: idOf(3) }] }];
    give(1, 2, 3);
    const args = ['--status', 'completed', '--limit', '2', '--json', '--url', url];
    expect(JSON.parse((await run('export', folder, ...args)).out)).toEqual({ folder, histories: 2, failed: [] });
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('goes on after a run that the engine cannot give, names it and ends with 1', async () => {
    answers['/runs?status=running&limit=100'] = [200, { runs: [{ runId: idOf(1) }, { runId: idOf(2) }] }];
    give(2);
    expect(await run('export', folder, '--url', url)).toEqual({
      code: 1,
      out: `1 history in ${folder}\nnot exported: ${idOf(1)}: no run (RUN_NOT_FOUND)\n`,
      err: '',
    });
  });

  it('asks for nothing when the folder is not empty or not a folder, and ends with 2', async () => {
    await writeFile(join(folder, 'old.json'), '{}');
    expect(await run('export', folder, '--url', url)).toMatchObject({
      code: 2,
      err: `outwait: ${folder} must be empty, but contains 1 files or folders\n`,
    });
    expect(await run('export', join(folder, 'old.json'), '--url', url)).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be used (EEXIST)') as unknown,
    });
    expect(asked).toEqual([]);
  });

  it('writes nowhere else, whatever answers', async () => {
    answers['/runs?status=running&limit=100'] = [200, { runs: [{ runId: '../../evil' }] }];
    expect(await run('export', folder, '--url', url)).toMatchObject({
      code: 1,
      err: 'outwait: the engine returned an invalid run id\n',
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('outwait replay --from', () => {
  const config = (body: string, version = '1', earlier = '') => `
    import { defineApp, defineWorkflow } from 'outwait';
    const talks = (version, run) => defineWorkflow({ name: 'talks', version, run });
    export default defineApp({
      workflows: [talks('${version}', async (ctx) => { ${body} })],
      earlier: [${earlier}],
    });`;
  const says = `await ctx.signal('say');`;
  const sleeps = `await ctx.sleep({ minutes: 1 });`;

  async function replay(configText: string, ...args: readonly string[]) {
    const file = join(folder, 'app.config.ts');
    await writeFile(file, configText);
    return run('replay', '--config', file, ...args);
  }
  async function histories(...versions: readonly string[]): Promise<string> {
    const out = join(folder, 'histories');
    await mkdir(join(out, 'more'), { recursive: true });
    for (const [n, version] of versions.entries())
      await writeFile(join(out, 'more', `${idOf(n)}.json`), JSON.stringify(historyOf(idOf(n), version)));
    return out;
  }

  it('ends with 0 when all of them fit, and counts them (EN-11)', async () => {
    const out = await histories('1', '1', '2');
    expect(await replay(config(says), '--from', out)).toEqual({
      code: 0,
      out: [
        'WORKFLOW  VERSION  HISTORIES  FIT  DO NOT FIT',
        'talks     1        2          2    0',
        'talks     2        1          1    0',
        '',
      ].join('\n'),
      err: '',
    });
  });

  it('ends with 1 and names those that do not fit, whatever else is in the folder', async () => {
    const out = await histories('1');
    await writeFile(join(out, 'notes.txt'), 'x');
    await writeFile(join(out, 'broken.json'), '{');
    const newer = { ...historyOf(idOf(8)), format: 2 };
    await writeFile(join(out, 'newer.json'), JSON.stringify(newer));
    const odd = { ...historyOf(idOf(9)), events: [{ seq: 1, type: 'FromTheFuture' }] };
    await writeFile(join(out, 'odd.json'), JSON.stringify(odd));
    const { code, out: text } = await replay(config(sleeps), '--from', out);
    expect(code).toBe(1);
    expect(text).toContain('talks     1        3          0    3\n');
    expect(text).toMatch(/broken\.json is not a history.* \(HISTORY_FORMAT_UNKNOWN\)/);
    expect(text).toMatch(/0\.json: wait 1: the history has signal "say".* \(NONDETERMINISM\)/);
    expect(text).toContain(
      'newer.json: this version reads history format 1, the commit has 2 (HISTORY_FORMAT_UNKNOWN)',
    );
    expect(text).toContain('odd.json: this version does not know the event "FromTheFuture" (HISTORY_FORMAT_UNKNOWN)');
    expect(text).not.toContain('notes');
  });

  it('takes files and folders together, each file once, and gives JSON', async () => {
    const out = await histories('1', '1');
    const file = join(out, 'more', `${idOf(0)}.json`);
    const { code, out: text } = await replay(config(says), '--json', '--from', file, out);
    expect(code).toBe(0);
    expect(JSON.parse(text)).toMatchObject({
      histories: 2,
      fit: 2,
      results: [
        { file, kind: 'clean', runId: idOf(0), workflow: 'talks', version: '1' },
        { kind: 'clean', runId: idOf(1) },
      ],
    });
  });

  it('replays each with the version that the app has kept for it', async () => {
    const out = await histories('1', '2');
    const kept = config(sleeps, '2', `talks('1', async (ctx) => { ${says} })`);
    const { code, out: text } = await replay(kept, '--from', out);
    expect(code).toBe(1);
    expect(text).toMatch(/^talks {5}1 {8}1 {10}1 {4}0$/m);
    expect(text).toMatch(/^talks {5}2 {8}1 {10}0 {4}1$/m);
  });

  it('reports that an empty folder contains none', async () => {
    expect(await replay(config(says), '--from', await histories())).toEqual({
      code: 0,
      out: 'no histories\n',
      err: '',
    });
  });

  it('ends with 2 for a path that is not there, and for both ways to name files', async () => {
    const missing = join(folder, 'nowhere');
    expect(await replay(config(says), '--from', missing)).toEqual({
      code: 2,
      out: '',
      err: `outwait: ${missing} cannot be read (ENOENT)\n`,
    });
    expect(await run('replay', 'a.json', '--from', 'b.json')).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be combined') as unknown,
    });
  });
});
