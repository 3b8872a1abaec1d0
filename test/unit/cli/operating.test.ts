import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../../lib/base/log.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { type Result, run } from './in-process.js';

const talks = defineWorkflow({
  name: 'talks',
  run: async (ctx) => {
    let said: unknown = null;
    ctx.onQuery('said', (input) => ({ said, input: input ?? null }));
    said = await ctx.signal('say');
    const { promise } = await ctx.promise({ name: 'approval' });
    return promise;
  },
});
const noisy = defineWorkflow({
  name: 'noisy',
  run: () => Promise.reject(new Error('red \u001b[31m, title \u009d0;x\u0007,\nleft \u202e')),
});

/** A long step that fails once and then continues until it is told to end. */
let finish: () => void = () => undefined;
const works = defineWorkflow({
  name: 'works',
  run: (ctx) =>
    ctx.step(
      'work',
      async ({ attempt, report }) => {
        report({ rows: attempt });
        if (attempt === 1) throw new Error('too early');
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return 'worked';
      },
      { long: true, retry: { initialInterval: { milliseconds: 1 } } },
    ),
});

let engine: LocalEngine;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-operating-'));
  engine = await startLocalEngine({
    app: defineApp({ workflows: [talks, noisy, works] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
});
afterAll(async () => {
  await engine.stop();
  await rm(folder, { recursive: true, force: true });
});

const ask = (...args: readonly string[]) => run(...args, '--url', engine.url);
const idIn = ({ out }: Result): string => /[0-9a-f]{32}/.exec(out)![0];
const waitsFor = (runId: string, text: RegExp) =>
  eventually(async () => {
    expect((await ask('why', runId)).out).toMatch(text);
  });

describe('a run of a long step', () => {
  it('is explained: since when its attempt runs, the lease, the last error and the progress', async () => {
    const runId = idIn(await ask('start', 'works'));
    await waitsFor(
      runId,
      /^waits for {2}long step, work, since \S+, 1 failed, last error: step "work" failed: too early, attempt 2 running since \S+ \(lease until \S+\), progress: \{"rows":1\} \(wait 1\)$/m,
    );
    const shown = JSON.parse((await ask('show', runId, '--json')).out) as { waits: { kind: string }[] };
    expect(shown.waits).toMatchObject([{ kind: 'longStep', failedAttempts: 1, progress: { rows: 1 } }]);
    finish();
    await waitsFor(runId, /^outcome {4}completed: "worked"$/m);
  });
});

describe('outwait start --concurrency-key', () => {
  it('lets the run wait for the one before it with this key, and shows both', async () => {
    const keyed = ['start', 'talks', '--concurrency-key', 'customer 7'] as const;
    const first = idIn(await ask(...keyed));
    await waitsFor(first, /^waits for {2}signal, say, /m);
    const second = idIn(await ask(...keyed));
    const shown = (await ask('show', second)).out;
    expect(shown).toMatch(/^concurrency "customer 7"$/m);
    expect(shown).toContain(first);
    expect((await ask('why', second)).out).not.toContain('signal, say');
    await ask('terminate', first);
    await waitsFor(second, /^waits for {2}signal, say, /m);
  });

  it('ends with 2 for a key that is empty or too long', async () => {
    for (const key of ['', 'k'.repeat(256)])
      expect((await ask('start', 'talks', '--concurrency-key', key)).code).toBe(2);
  });
});

describe('a run that is talked to', () => {
  it('is signalled, asked, explained and settled', async () => {
    const runId = idIn(await ask('start', 'talks', '--tag', 'team=blue', '--tag', 'env=test'));
    await waitsFor(runId, /^waits for {2}signal, say, since \S+ \(wait 1\)$/m);
    expect(await ask('signal', runId, 'say', '--payload', '{"to":"you"}', '--key', 's1')).toEqual({
      code: 0,
      out: 'accepted\n',
      err: '',
    });
    await waitsFor(runId, /^waits for {2}external, approval, since \S+ \(wait 2\)$/m);
    // The request of the wait is in the log before its token is there.
    await eventually(async () => {
      expect((await ask('waits', '--run', runId)).out).not.toBe('no waits\n');
    });
    const waits = await ask('waits', '--run', runId);
    expect(waits.out).toMatch(/^RUN .*\n[0-9a-f]{32} {2}2 {5}external {2}approval {10}\S+Z\n$/);
    const listed = JSON.parse((await ask('waits', '--json')).out) as { waits: { runId: string; token: string }[] };
    const { token = '' } = listed.waits.find((wait) => wait.runId === runId) ?? {};
    expect(token).toContain(`${runId}.2.local.`);
    expect(waits.out).not.toContain(token);
    expect(await ask('waits', '--run', runId, '--after', '1')).toMatchObject({ code: 2 });
    expect((await ask('query', runId, 'said', '--input', '7')).out).toBe('{"said":{"to":"you"},"input":7}\n');
    expect((await ask('list', '--tag', 'team=blue', '--tag', 'env=test')).out).toContain(runId);
    expect((await ask('list', '--tag', 'team=red')).out).toBe('no runs\n');
    expect((await ask('show', runId)).out).toMatch(/^tags {7}team=blue env=test$/m);
    expect(await ask('settle', runId, '2', '--output', '"yes"')).toEqual({ code: 0, out: 'settled\n', err: '' });
    expect(await ask('settle', runId, '2', '--error', 'no')).toMatchObject({ code: 1 });
    await waitsFor(runId, /^outcome {4}completed: "yes"$/m);
    expect(await ask('signal', runId, 'say')).toMatchObject({ code: 1, out: 'not accepted: the run has ended\n' });
  });

  it('is failed by hand', async () => {
    const runId = idIn(await ask('start', 'talks'));
    await ask('signal', runId, 'say');
    await waitsFor(runId, /\(wait 2\)/);
    await eventually(async () => {
      expect((await ask('waits', '--run', runId)).out).not.toBe('no waits\n');
    });
    expect((await ask('settle', runId, '2', '--error', 'not today', '--json')).out).toBe('{"settled":true}\n');
    await waitsFor(runId, /^outcome {4}failed: .*not today/m);
  });

  it('is paused and goes on', async () => {
    const runId = idIn(await ask('start', 'talks'));
    expect((await ask('pause', runId)).out).toBe('accepted\n');
    await waitsFor(runId, /^paused {5}until \S+, or a resume$/m);
    expect((await ask('retry-now', runId)).out).toBe('accepted\n');
    await ask('resume', runId);
    await eventually(async () => {
      expect((await ask('why', runId)).out).not.toMatch(/paused/);
    });
  });

  it('starts later, and is limited in time', async () => {
    const delayed = ask('start', 'talks', '--delay', '{"hours":1}', '--timeout', '{"days":2}');
    const { out } = await ask('why', idIn(await delayed));
    expect(out).toMatch(/^delayed {4}it starts at \S+$/m);
    expect(out).toMatch(/^deadline {3}\S+$/m);
  });

  it('is listed page by page', async () => {
    for (let n = 0; n < 2; n++) await ask('start', 'talks');
    const first = await ask('list', '--status', 'running', '--limit', '1');
    const cursor = /--cursor '([^']+)'/.exec(first.out)![1]!;
    const second = await ask('list', '--status', 'running', '--limit', '1', '--cursor', cursor);
    expect(idIn(second)).not.toBe(idIn(first));
    expect(await ask('list', '--cursor', 'x')).toMatchObject({ code: 1 });
  });

  it('is refused for what it does not know', async () => {
    const runId = idIn(await ask('start', 'talks'));
    expect(await ask('query', runId, 'nope')).toMatchObject({
      code: 1,
      err: expect.stringContaining('(QUERY_NOT_FOUND)') as unknown,
    });
    expect(await ask('settle', runId, '9', '--error', 'x')).toMatchObject({ code: 1 });
    for (const command of ['why', 'pause', 'resume', 'retry-now'])
      expect((await ask(command, '0'.repeat(32))).err).toContain('(RUN_NOT_FOUND)');
  });
});

describe('text of others on the terminal', () => {
  const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

  it('holds no control characters, in any form', async () => {
    const runId = idIn(await ask('start', 'noisy', '--wait'));
    for (const args of [
      ['show', runId],
      ['why', runId],
      ['history', runId],
      ['show', runId, '--json'],
    ]) {
      const { code, out } = await ask(...args);
      expect([code, controls.test(out)]).toEqual([0, false]);
    }
    expect((await ask('show', runId)).out).toMatch(/^outcome .*red \\u\{1b\}\[31m, title \\u\{9d\}0;x\\u\{7\}, left/m);
    const outcome = JSON.parse((await ask('show', runId, '--json')).out) as { outcome: { error: { message: string } } };
    expect(outcome.outcome.error.message).toContain('title \u009d0;x');
  });

  it('contains none either if it is the error of the server that answers', async () => {
    const server = createServer((_request, response) =>
      response.writeHead(404).end(JSON.stringify({ error: { code: 'X\u001b[2J', message: 'no\u009b31m' } })),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const results = [await run('list', '--url', url), await run('list', '--url', url, '--json')];
    server.close();
    for (const { code, err } of results) expect([code, controls.test(err)]).toEqual([1, false]);
  });
});

describe('outwait history', () => {
  it('reads all pages', async () => {
    const pages: Record<string, object> = {
      '': { runId: 'r', workflow: 'w', version: '1', seed: 's', events: [{ seq: 1 }], nextAfter: 1 },
      '?after=1': { events: [{ seq: 2 }], nextAfter: 2 },
      '?after=2': { events: [{ seq: 3 }] },
    };
    const server = createServer((request, response) =>
      response.end(JSON.stringify(pages[/history(.*)$/.exec(request.url!)![1]!])),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { out } = await run('history', '0'.repeat(32), '--url', url, '--json');
    server.close();
    expect(JSON.parse(out)).toEqual({
      runId: 'r',
      workflow: 'w',
      version: '1',
      seed: 's',
      events: [{ seq: 1 }, { seq: 2 }, { seq: 3 }],
    });
  });
});

describe('outwait replay (EN-11)', () => {
  const config = (body: string) => `
    import { defineApp, defineWorkflow } from 'outwait';
    export default defineApp({ workflows: [defineWorkflow({ name: 'talks', run: async (ctx) => { ${body} } })] });`;
  const same = `let said = null; ctx.onQuery('said', () => said); said = await ctx.signal('say');
    const { promise } = await ctx.promise({ name: 'approval' }); return promise;`;

  async function anExport(): Promise<string> {
    const runId = idIn(await ask('start', 'talks'));
    await ask('signal', runId, 'say', '--payload', '"x"');
    await waitsFor(runId, /\(wait 2\)/);
    await ask('settle', runId, '2', '--output', '"yes"');
    await waitsFor(runId, /completed/);
    const file = join(folder, `${runId}.json`);
    await writeFile(file, (await ask('history', runId, '--json')).out);
    return file;
  }

  it('says that the code fits', async () => {
    const file = await anExport();
    await writeFile(join(folder, 'same.config.ts'), config(same));
    expect(await run('replay', file, '--config', join(folder, 'same.config.ts'))).toEqual({
      code: 0,
      out: 'fits: completed: "yes"\n',
      err: '',
    });
  });

  it('says where it does not, and ends with 1', async () => {
    const file = await anExport();
    await writeFile(join(folder, 'other.config.ts'), config(`await ctx.sleep({ minutes: 1 });`));
    const result = await run('replay', file, '--config', join(folder, 'other.config.ts'));
    expect(result).toMatchObject({ code: 1, err: '' });
    expect(result.out).toMatch(/^does not fit: .*\(NONDETERMINISM\)\n$/s);
    const asJson = await run('replay', file, '--json', '--config', join(folder, 'other.config.ts'));
    expect(JSON.parse(asJson.out)).toMatchObject({ kind: 'differs', error: { code: 'NONDETERMINISM' } });
  });

  it.each([
    ['nowhere.json', undefined, 'cannot be read (ENOENT)'],
    ['text.json', 'x', 'is not a history'],
    ['list.json', '[]', 'is not a history'],
    ['short.json', '{"runId":"x","workflow":"w","seed":"s","events":[]}', 'is not a history'],
  ])('refuses %s', async (name, content, message) => {
    const file = join(folder, name);
    if (content !== undefined) await writeFile(file, content);
    const result = await run('replay', file);
    expect(result).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) as unknown });
  });

  it('names a configuration that is not there', async () => {
    const result = await run('replay', await anExport(), '--config', join(folder, 'missing.ts'));
    expect(result).toMatchObject({ code: 1, err: expect.stringContaining('there is no configuration') as unknown });
  });
});
