import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { lockFolder } from '../../../lib/local/folder-lock.js';
import { processOf } from '../../../lib/local/process-identity.js';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-lock-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts another process that takes the lock, prints "held" or the refusal, and stays until it is ended. */
async function aTaker(folder: string): Promise<{ says: string; pid: number; kill(): Promise<void> }> {
  const script = `
    const { lockFolder } = await import(${JSON.stringify(new URL('../../../lib/local/folder-lock.ts', import.meta.url).href)});
    try { await lockFolder(${JSON.stringify(folder)}); console.log('held'); } catch (error) { console.log(error.message); }
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  };
  undo.push(kill);
  const says = await new Promise<string>((resolve) =>
    child.stdout.once('data', (data: Buffer) => {
      resolve(data.toString().trim());
    }),
  );
  return { says, pid: child.pid!, kill };
}

describe('the lock on a folder', () => {
  it('refuses a second process and names the folder, the process and what to do', async () => {
    const folder = await aFolder();
    const first = await aTaker(folder);
    expect(first.says).toBe('held');
    await expect(lockFolder(folder)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${folder} is in use by another outwait dev (process ${first.pid}); stop that one (kill ${first.pid}), or choose another folder with --state`,
    });
  });

  it('is taken over at once from a process that was killed', async () => {
    const folder = await aFolder();
    const first = await aTaker(folder);
    await first.kill();
    await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock-2.json']);
    expect(JSON.parse(await readFile(join(folder, 'lock-2.json'), 'utf8'))).toEqual(processOf(process.pid));
  });

  it('is taken over when the number of its process now belongs to another', async () => {
    const folder = await aFolder();
    await writeFile(join(folder, 'lock-1.json'), JSON.stringify({ pid: process.ppid, start: 'another boot/1' }));
    await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock-2.json']);
  });

  it('is taken over from a file that a power loss left empty', async () => {
    const folder = await aFolder();
    await writeFile(join(folder, 'lock-7.json'), '');
    await lockFolder(folder);
    expect(await readdir(folder)).toEqual(['lock-8.json']);
  });

  it('goes to one of several callers that find it stale at the same instant', async () => {
    const folder = await aFolder();
    await writeFile(join(folder, 'lock-1.json'), JSON.stringify({ pid: 2 ** 22 + 1, start: 'gone' }));
    const taken = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(folder)));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['lock-2.json']);
  });

  it('goes to one of several processes that find it stale at the same time', async () => {
    const folder = await aFolder();
    await writeFile(join(folder, 'lock-1.json'), JSON.stringify({ pid: 2 ** 22 + 1, start: 'gone' }));
    const takers = await Promise.all(Array.from({ length: 4 }, () => aTaker(folder)));
    expect(takers.filter(({ says }) => says === 'held')).toHaveLength(1);
    expect(takers.filter(({ says }) => says.includes('is in use by another outwait dev'))).toHaveLength(3);
  });
});
