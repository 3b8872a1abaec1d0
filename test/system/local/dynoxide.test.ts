import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { type Dynoxide, findDynoxide, startDynoxide } from '../../../lib/local/dynoxide.js';
import { processOf } from '../../../lib/local/process-identity.js';

let folder: string;
const children: ChildProcess[] = [];
const running: Dynoxide[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-database-'));
});
afterEach(async () => {
  for (const database of running.splice(0)) await database.stop();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const options = () => ({
  databaseFile: join(folder, 'dynamodb.sqlite'),
  recordFile: join(folder, 'database.json'),
  log: silentLog,
  onLost: () => undefined,
});
const recorded = async (): Promise<{ pid: number; start: string }> =>
  JSON.parse(await readFile(join(folder, 'database.json'), 'utf8')) as { pid: number; start: string };

/** Starts an unrelated process with the path of the database among its arguments. */
async function another(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [
    '-e',
    'console.log("up"); setInterval(() => undefined, 1e6)',
    join(folder, 'dynamodb.sqlite'),
  ]);
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

it('a database that does not become ready is ended, and its process is on record before', async () => {
  const binary = join(folder, 'deaf');
  await writeFile(binary, `#!${process.execPath}\nsetInterval(() => undefined, 1e6);\n`);
  await chmod(binary, 0o755);
  await expect(startDynoxide({ ...options(), binary, readyMaxMs: 50 })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: 'the database did not answer within 50 ms',
  });
  const { pid } = await recorded();
  expect(processOf(pid)).toBeUndefined();
});

it('a program that cannot be run is named', async () => {
  const binary = join(folder, 'nothing');
  await expect(startDynoxide({ ...options(), binary })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

describe.runIf(findDynoxide() !== undefined)('what a killed process left', () => {
  const start = async (): Promise<void> => {
    running.push(await startDynoxide({ ...options(), binary: findDynoxide()! }));
  };

  const leftOver = async (): Promise<ChildProcess> => {
    const child = spawn(findDynoxide()!, [
      ...['--host', '127.0.0.1', '--port', '0', '--db-path', join(folder, 'dynamodb.sqlite')],
    ]);
    children.push(child);
    await new Promise((resolve) => child.once('spawn', resolve));
    return child;
  };

  it('is ended when it is the recorded database', async () => {
    const child = await leftOver();
    await writeFile(join(folder, 'database.json'), JSON.stringify(processOf(child.pid!)));
    await start();
    expect(processOf(child.pid!)).toBeUndefined();
    expect((await recorded()).pid).not.toBe(child.pid);
  });

  it('is not anybody else with the file open', async () => {
    const other = await another();
    await start();
    expect(processOf(other.pid!)).toBeDefined();
  });

  it('is not another program that was given the recorded number', async () => {
    const other = await another();
    await writeFile(join(folder, 'database.json'), JSON.stringify(processOf(other.pid!)));
    await start();
    expect(processOf(other.pid!)).toBeDefined();
  });

  it('is not a later process with the recorded number', async () => {
    const other = await leftOver();
    await writeFile(join(folder, 'database.json'), JSON.stringify({ pid: other.pid, start: 'long ago' }));
    await start();
    expect(processOf(other.pid!)).toBeDefined();
  });
});
