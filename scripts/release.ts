// Checks whether the current commit can be released, and prints what a release would do; `--publish` does it. Works on
// the package of the current folder and exits with 0, 1 (not releasable, or a command failed) or 2 (usage).

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { changelogProblem } from './changelog.js';

type Command = readonly [program: string, ...args: string[]];

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Runs a command and shows its output. @throws Error if its exit code is not 0 */
async function run([program, ...args]: Command): Promise<void> {
  const code = await exitCodeOf(spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }));
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code ?? 'a signal'}`);
}

/** Returns the output of a command, whether or not it succeeds. */
async function outputOf([program, ...args]: Command): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  await exitCodeOf(child);
  return output.trim();
}

function exitCodeOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
}

/** Returns the problems that are visible before any check runs. */
async function problemsOf(version: string): Promise<readonly string[]> {
  const changelog = await readFile('CHANGELOG.md', 'utf8').catch(() => '');
  const [changes, tag] = await Promise.all([
    outputOf(['git', 'status', '--porcelain']),
    outputOf(['git', 'tag', '--list', `v${version}`]),
  ]);
  return [
    changes === '' ? undefined : 'the working tree has uncommitted changes',
    tag === '' ? undefined : `the tag v${version} exists already`,
    changelogProblem(changelog, version),
    // Later versions have to be able to read the runs that this version starts.
    existsSync(`test/replay/histories/${version}`)
      ? undefined
      : `there are no recorded histories of ${version} (npm run histories)`,
    existsSync(`test/system/upgrade/fixtures/${version}.json.br`)
      ? undefined
      : `there are no kept bundles of ${version} (npm run bundles)`,
  ].filter((problem) => problem !== undefined);
}

async function release(isPublishing: boolean): Promise<void> {
  const { name, version } = JSON.parse(await readFile('package.json', 'utf8')) as { name: string; version: string };
  const problems = await problemsOf(version);
  for (const problem of problems) say(`release: ${problem}`);
  if (problems.length > 0) throw new Error(`${name} ${version} cannot be released`);

  const hadBuild = existsSync('dist');
  const steps: readonly Command[] = [
    ['npm', 'publish', '--access', 'public'],
    // Tagged after publishing: a tag without a package would promise a release that does not exist.
    ['git', 'tag', '--annotate', `v${version}`, '--message', `${name} ${version}`],
    ['git', 'push', 'origin', `v${version}`],
  ];
  try {
    await run(['npm', 'run', 'check']);
    await run(['npm', 'run', 'test:package']);
    await run(['npm', 'pack', '--dry-run']);
    if (isPublishing) {
      for (const step of steps) await run(step);
      say(`release: ${name} ${version} is published`);
      return;
    }
  } finally {
    // Packing builds, and a clone with a build runs the build instead of its source.
    if (!hadBuild) await rm('dist', { recursive: true, force: true });
  }
  say(`release: ${name} ${version} can be released; with --publish this would run:`);
  for (const step of steps) say(`  ${step.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ')}`);
}

const flags = process.argv.slice(2);
if (flags.some((flag) => flag !== '--publish')) {
  process.stderr.write('usage: npm run release [-- --publish]\n');
  process.exitCode = 2;
} else {
  try {
    await release(flags.includes('--publish'));
  } catch (error) {
    process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
