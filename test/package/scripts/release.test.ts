import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { changelogProblem } from '../../../scripts/changelog.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-release-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function run(command: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|GIT_)/.test(name)));
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  return { code: await new Promise((resolve) => child.once('close', resolve)), output };
}
const release = (...flags: string[]) =>
  run(join(root, 'node_modules/.bin/tsx'), join(root, 'scripts/release.ts'), ...flags);
const git = (...args: string[]) => run('git', '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args);

/** Creates a repository whose scripts record that they ran. */
async function aRepository(options: { readonly changelog?: string; readonly check?: string } = {}): Promise<void> {
  const { changelog = '## [1.2.3] - 2026-11-29', check = 'echo check >> ran.txt' } = options;
  await mkdir(join(folder, 'test/replay/histories/1.2.3'), { recursive: true });
  await writeFile(join(folder, 'test/replay/histories/1.2.3/a.json'), '{}');
  await mkdir(join(folder, 'test/system/upgrade/fixtures'), { recursive: true });
  await writeFile(join(folder, 'test/system/upgrade/fixtures/1.2.3.json.br'), '');
  await writeFile(join(folder, '.gitignore'), 'ran.txt\ndist\n');
  await writeFile(join(folder, 'CHANGELOG.md'), `# Changelog\n\n${changelog}\n`);
  // Private, so that npm refuses to publish it whatever the script does.
  const scripts = { check, 'test:package': 'echo package >> ran.txt', prepack: 'mkdir dist' };
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'thing', version: '1.2.3', private: true, scripts }),
  );
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '--message', 'all');
}

describe('a release without --publish', () => {
  it('runs every check, says what it would do, and does none of it', async () => {
    await aRepository();
    const { code, output } = await release();
    expect(output).toContain(`release: thing 1.2.3 can be released; with --publish this would run:
  npm publish --access public
  git tag --annotate v1.2.3 --message "thing 1.2.3"
  git push origin v1.2.3
`);
    expect(code).toBe(0);
    expect(await readFile(join(folder, 'ran.txt'), 'utf8')).toBe('check\npackage\n');
    expect((await git('tag')).output).toBe('');
    expect(existsSync(join(folder, 'dist'))).toBe(false);
  });

  it('names everything that stands against it, and runs nothing', async () => {
    await aRepository({ changelog: '## [1.2.3] - unreleased' });
    await git('tag', 'v1.2.3');
    await rm(join(folder, 'test'), { recursive: true });
    expect(await release()).toEqual({
      code: 1,
      output: `release: the working tree has uncommitted changes
release: the tag v1.2.3 exists already
release: CHANGELOG.md has no date of it: expected "## [1.2.3] - YYYY-MM-DD"
release: there are no recorded histories of 1.2.3 (npm run histories)
release: there are no kept bundles of 1.2.3 (npm run bundles)
release: thing 1.2.3 cannot be released
`,
    });
    expect(existsSync(join(folder, 'ran.txt'))).toBe(false);
  });

  it('stops at the first check that fails', async () => {
    await aRepository({ check: 'exit 3' });
    const { code, output } = await release('--publish');
    expect(output).toContain('release: npm run check ended with 3\n');
    expect(code).toBe(1);
    expect(existsSync(join(folder, 'ran.txt'))).toBe(false);
  });

  it('takes no other flag', async () => {
    expect(await release('--dry-run')).toEqual({ code: 2, output: 'usage: npm run release [-- --publish]\n' });
  });
});

describe('the changelog of a release', () => {
  it.each([
    ['## [1.2.3] - 2026-11-29', undefined],
    ['## [1.2.30] - 2026-11-29', 'CHANGELOG.md has no "## [1.2.3]"'],
    ['## [1.2.3]', 'CHANGELOG.md has no date of it: expected "## [1.2.3] - YYYY-MM-DD"'],
    ['', 'CHANGELOG.md has no "## [1.2.3]"'],
  ])('"%s": %s', (heading, problem) => {
    expect(changelogProblem(`# Changelog\n\n${heading}\n`, '1.2.3')).toBe(problem);
  });
});
