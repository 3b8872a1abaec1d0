import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from './in-process.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const installed = (path: string): string => join(root, 'node_modules', path);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-init-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function runNode(args: readonly string[], cwd: string): Promise<{ code: number | null; output: string }> {
  // The variables of this test run are not meant for a test run inside it.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
  const child = spawn(process.execPath, [...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

/** Installs this package as npm would: what package.json lists, built, with its dependencies beside it. */
async function installOutwait(project: string): Promise<string> {
  const home = join(folder, 'package');
  await mkdir(home);
  await cp(join(root, 'package.json'), join(home, 'package.json'));
  await cp(join(root, 'bin'), join(home, 'bin'), { recursive: true });
  await symlink(installed(''), join(home, 'node_modules'));
  // The compiler writes what it can; the type check of the package finds mistakes in its types.
  const built = await runNode(
    [
      installed('typescript/bin/tsc'),
      '-p',
      'tsconfig.build.json',
      '--outDir',
      join(home, 'dist'),
      '--sourceMap',
      'false',
    ],
    root,
  );
  expect(await readdir(join(home, 'dist/lib')).catch(() => built.output)).toContain('cli.js');
  await mkdir(join(project, 'node_modules/@types'), { recursive: true });
  await symlink(home, join(project, 'node_modules/outwait'));
  for (const name of ['vitest', 'typescript', '@types/node'])
    await symlink(installed(name), join(project, 'node_modules', name));
  return home;
}

describe('outwait init', () => {
  it('writes a project that type-checks, passes its tests and loads', { timeout: 180_000 }, async () => {
    const project = join(folder, 'My Reports!');
    const written = await run('init', project);
    expect(written).toMatchObject({ code: 0, err: '' });
    expect(written.out).toContain(`wrote ${join(project, 'workflows/report.ts')}`);
    expect(JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))).toMatchObject({
      name: 'my-reports',
      type: 'module',
    });

    const home = await installOutwait(project);
    expect(await runNode([installed('typescript/bin/tsc'), '-p', '.'], project)).toEqual({ code: 0, output: '' });
    const tested = await runNode([installed('vitest/vitest.mjs'), 'run', '--reporter=json'], project);
    expect(tested.code, tested.output).toBe(0);
    expect(tested.output).toContain('"numPassedTests":2');
    const examined = await runNode([join(home, 'bin/outwait.js'), 'doctor', '--port', '0'], project);
    expect(examined).toMatchObject({ code: 0, output: expect.stringContaining('1 workflow, 1 server') as unknown });
  });

  it('leaves a folder that is not empty as it is', async () => {
    const taken = join(folder, 'taken');
    await mkdir(taken);
    await writeFile(join(taken, 'mine.txt'), 'x');
    expect(await run('init', taken)).toEqual({
      code: 1,
      out: '',
      err: `outwait: ${taken} is not empty; nothing was written\n`,
    });
    expect(await readdir(taken)).toEqual(['mine.txt']);
  });

  it('takes an empty one, and says when it cannot write', async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    expect((await run('init', empty)).code).toBe(0);
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect(await run('init', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be written') as unknown,
    });
    expect(await run('init')).toMatchObject({ code: 2 });
  });
});
