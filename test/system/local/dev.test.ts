import { createServer, type AddressInfo } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDynoxide } from '../../../lib/local/dynoxide.js';
import { processesWithArgument, processOf } from '../../../lib/local/process-identity.js';
import { anAppFolder, type DevProcess, runCli, startDevProcess } from './dev-process.js';

let app: Awaited<ReturnType<typeof anAppFolder>>;
const running: DevProcess[] = [];
beforeEach(async () => {
  app = await anAppFolder();
});
afterEach(async () => {
  for (const dev of running.splice(0)) await dev.end('SIGTERM');
  // A test that failed after its kill -9 leaves a database behind.
  for (const pid of processesWithArgument(join(app.folder, '.outwait/dynamodb.sqlite'))) process.kill(pid, 'SIGKILL');
  await app.remove();
});

async function startDev(args: readonly string[] = []): Promise<DevProcess> {
  const dev = await startDevProcess(app.folder, args);
  running.push(dev);
  return dev;
}
const failedDev = (...args: string[]) => runCli(['dev', '--port', '0', ...args], { cwd: app.folder });
const databasePid = async (): Promise<number> =>
  (JSON.parse(await readFile(join(app.folder, '.outwait/database.json'), 'utf8')) as { pid: number }).pid;

interface Run {
  readonly status: string;
  readonly outcome?: unknown;
  readonly waits: readonly { readonly kind: string }[];
}

async function start(dev: DevProcess, workflow: string, input: object): Promise<string> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ workflow, input }),
  };
  return ((await (await fetch(`${dev.url}/runs`, init)).json()) as { runId: string }).runId;
}

/** Polls the run; the test's own timeout limits it. */
async function runWhen(dev: DevProcess, runId: string, holds: (run: Run) => boolean): Promise<Run> {
  for (;;) {
    const response = await fetch(`${dev.url}/runs/${runId}`);
    const run = (await response.json()) as Run;
    if (response.status === 200 && holds(run)) return run;
  }
}
const hasEnded = (run: Run): boolean => run.status !== 'running' && run.status !== 'ending';

it.runIf(process.platform === 'linux' && process.arch === 'x64')('the database program is installed here', () => {
  expect(findDynoxide()).toBeDefined();
});

describe.runIf(findDynoxide() !== undefined)('outwait dev', () => {
  it('says once on stdout where it listens and which store it uses', async () => {
    const dev = await startDev();
    expect(dev.output.stdout).toMatch(
      /^outwait dev ready at http:\/\/127\.0\.0\.1:\d+ \(store: dynoxide \d+\.\d+\.\d+, \.outwait\/dynamodb\.sqlite\)\n$/,
    );
    const run = await runWhen(dev, await start(dev, 'hello', { name: 'you' }), hasEnded);
    expect(run.outcome).toEqual({ status: 'completed', result: { greeting: 'hello you' } });
    expect(dev.output.stdout.trim().split('\n')).toHaveLength(1);
  });

  it('prints lifecycle events as they come with --events, and none without it', async () => {
    const dev = await startDev(['--events']);
    const ended = new Promise<void>((resolve) => {
      dev.child.stdout?.on('data', () => {
        if (dev.output.stdout.includes('RunCompleted')) resolve();
      });
    });
    const runId = await start(dev, 'hello', { name: 'you' });
    await ended;
    const lines = dev.output.stdout.trim().split('\n').slice(1);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { type: 'RunStarted', runId, workflow: 'hello' },
      { type: 'RunCompleted', runId, eventId: expect.stringMatching(`^${runId}:`) as unknown },
    ]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends its database and itself with 0 at %s (F45)',
    async (signal) => {
      const dev = await startDev();
      const pid = await databasePid();
      expect(processOf(pid)).toBeDefined();
      expect(await dev.end(signal)).toBe(0);
      expect(processOf(pid)).toBeUndefined();
    },
  );

  it('is refused on a folder that is in use, and the first goes on', async () => {
    const dev = await startDev();
    const second = await failedDev();
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toContain(
      `${join(app.folder, '.outwait')} is in use by another outwait dev (process ${dev.child.pid ?? 0})`,
    );
    expect((await fetch(`${dev.url}/healthz`)).status).toBe(200);
  });

  it('goes on after a kill -9 on the same folder: ends the old database, runs no recorded step again, finishes the run (EN-13)', async () => {
    const file = join(app.folder, 'steps.txt');
    const first = await startDev();
    const runId = await start(first, 'recorded', { file });
    await runWhen(first, runId, (run) => run.waits[0]?.kind === 'timer');
    const oldDatabase = await databasePid();
    expect(await first.end('SIGKILL')).toBeNull();
    running.pop();
    expect(processOf(oldDatabase)).toBeDefined();

    const second = await startDev();
    expect(processOf(oldDatabase)).toBeUndefined();
    const run = await runWhen(second, runId, hasEnded);
    expect(run.outcome).toEqual({ status: 'completed', result: 'woken' });
    expect(await readFile(file, 'utf8')).toBe('ran\n');
  });

  it('starts its database again when that is killed alone', async () => {
    const dev = await startDev();
    process.kill(await databasePid(), 'SIGKILL');
    let status = 0;
    while (status !== 200) status = (await fetch(`${dev.url}/runs`)).status;
    const run = await runWhen(dev, await start(dev, 'hello', { name: 'again' }), hasEnded);
    expect(run.outcome).toEqual({ status: 'completed', result: { greeting: 'hello again' } });
  });

  it('uses a stand-in that runs already', async () => {
    const host = await startDev();
    const { port } = JSON.parse(await readFile(join(app.folder, '.outwait/database.json'), 'utf8')) as { port: number };
    const dev = await startDev(['--state', 'other', '--dynamodb-endpoint', `http://127.0.0.1:${port}`]);
    expect(dev.ready).toContain(`(store: DynamoDB at 127.0.0.1:${port})`);
    const runId = await start(host, 'hello', { name: 'x' });
    expect((await fetch(`${dev.url}/runs/${runId}`)).status).toBe(200);
  });
});

describe('outwait dev without the database', () => {
  it('keeps its runs in a journal, also over a kill -9 (EN-13)', async () => {
    const file = join(app.folder, 'steps.txt');
    const first = await startDev(['--store', 'memory']);
    expect(first.ready).toContain('(store: memory, .outwait/journal.jsonl)');
    const runId = await start(first, 'recorded', { file });
    await runWhen(first, runId, (run) => run.waits[0]?.kind === 'timer');
    await first.end('SIGKILL');
    running.pop();
    const run = await runWhen(await startDev(['--store', 'memory']), runId, hasEnded);
    expect(run.outcome).toEqual({ status: 'completed', result: 'woken' });
    expect(await readFile(file, 'utf8')).toBe('ran\n');
  });

  it('says that a port is taken and ends with 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const ended = await failedDev('--store', 'memory', '--port', String(port));
    taken.close();
    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr: `outwait: port ${port} is in use; stop the process that uses it or choose another with --port\n`,
    });
  });

  it('names a configuration that it cannot use and ends with 1', async () => {
    const ended = await failedDev('--store', 'memory', '--config', 'nowhere.ts');
    expect(ended).toEqual({ code: 1, stdout: '', stderr: 'outwait: there is no configuration at nowhere.ts\n' });
  });

  it('F92 refuses a management token that is too short, before anything else', async () => {
    const ended = await runCli(['dev', '--port', '0', '--store', 'memory'], {
      cwd: app.folder,
      env: { OUTWAIT_MANAGEMENT_TOKEN: 'canary-s3cret' },
    });
    expect(ended).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'outwait: OUTWAIT_MANAGEMENT_TOKEN must have at least 24 characters, all of them visible ASCII; it has 13\n',
    });
  });

  it.each(['null', '*', 'localhost:3000', 'http://localhost:3000/page', 'ftp://localhost', 'http://a@localhost'])(
    'F95 refuses %s as an origin to let in',
    async (origin) => {
      const ended = await failedDev('--store', 'memory', '--allow-origin', origin);
      expect([ended.code, ended.stdout]).toEqual([2, '']);
      expect(ended.stderr).toContain('It must be the origin of a page, for example http://localhost:3000.');
    },
  );

  it('F95 lets pages of the origins in that are named', async () => {
    const dev = await startDev([
      ...['--store', 'memory', '--allow-origin', 'http://localhost:3000/', '--allow-origin', 'https://my.example.com'],
    ]);
    const statuses = ['http://localhost:3000', 'https://my.example.com', 'http://localhost:3001'].map(
      async (origin) => (await fetch(`${dev.url}/runs`, { headers: { origin } })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 403]);
  });

  it('refuses a folder of a newer version', async () => {
    const dev = await startDev(['--store', 'memory']);
    await dev.end('SIGTERM');
    running.pop();
    await writeFile(join(app.folder, '.outwait/format.json'), '{"format":"outwait-state","version":9}');
    const ended = await failedDev('--store', 'memory');
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('was written by a newer version of outwait (format 9, this version knows 1)');
  });
});
