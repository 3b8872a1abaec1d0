import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadTokenKeys, openStateFolder } from '../../../lib/local/state-folder.js';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function aFolder(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'outwait-state-'));
  undo.push(() => rm(parent, { recursive: true, force: true }));
  return join(parent, 'state');
}
const target = { runId: '0'.repeat(32), waitId: '1' };

describe('the state folder', () => {
  it('is made with its format and kept out of git, for this user only', async () => {
    const folder = await aFolder();
    await openStateFolder(folder);
    await openStateFolder(folder);
    expect(JSON.parse(await readFile(join(folder, 'format.json'), 'utf8'))).toEqual({
      format: 'outwait-state',
      version: 1,
    });
    expect(await readFile(join(folder, '.gitignore'), 'utf8')).toBe('*\n');
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('of a newer version is refused with both versions, and left alone', async () => {
    const folder = await aFolder();
    await openStateFolder(folder);
    await writeFile(join(folder, 'format.json'), '{"format":"outwait-state","version":2}');
    await expect(openStateFolder(folder)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: `${folder} was written by a newer version of outwait (format 2, this version knows 1); update outwait, or choose another folder with --state`,
    });
    expect(await readFile(join(folder, 'format.json'), 'utf8')).toBe('{"format":"outwait-state","version":2}');
  });

  it.each(['', '{', '7', '{"version":"1"}'])(
    'with a damaged format file is refused with its name: %s',
    async (content) => {
      const folder = await aFolder();
      await openStateFolder(folder);
      await writeFile(join(folder, 'format.json'), content);
      await expect(openStateFolder(folder)).rejects.toThrow(join(folder, 'format.json'));
    },
  );

  it('that is a file is refused', async () => {
    const folder = await aFolder();
    await writeFile(folder, '');
    await expect(openStateFolder(folder)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('keeps one token key, which only this user can read', async () => {
    const folder = await aFolder();
    await openStateFolder(folder);
    const token = (await loadTokenKeys(folder)).settleToken(target);
    expect((await loadTokenKeys(folder)).parseSettleToken(token)).toEqual(target);
    expect((await stat(join(folder, 'token-key.json'))).mode & 0o777).toBe(0o600);
    const other = await aFolder();
    await openStateFolder(other);
    expect((await loadTokenKeys(other)).settleToken(target)).not.toBe(token);
  });

  it.each(['{}', 'x', '{"keyId":"local","secret":"c2hvcnQ"}'])('refuses a damaged token key: %s', async (content) => {
    const folder = await aFolder();
    await openStateFolder(folder);
    await writeFile(join(folder, 'token-key.json'), content);
    await expect(loadTokenKeys(folder)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
