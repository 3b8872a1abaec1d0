// Checks what has changed, in less than a minute: format, types, lint and the nearest tests. `npm run quick --
// <commit>` compares with that commit; without one it compares with the point where the branch left `main`, or on
// `main` with the last commit. It does not test what is further away, so run `npm run check` before you send a change.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { importsIn, nearTests } from './near-tests.js';

const cache = 'node_modules/.cache/quick';
const isCode = (path: string): boolean => path.endsWith('.ts');

mkdirSync(cache, { recursive: true });
const startMs = performance.now();
const since = process.argv[2] ?? baseCommit();
const changed = [...lines('diff', '--name-only', since), ...lines('ls-files', '--others', '--exclude-standard')].filter(
  (path) => existsSync(path),
);
const code = changed.filter(isCode);
const files = [...lines('ls-files', '*.ts'), ...code];
const imports = new Map(files.filter(existsSync).map((path) => [path, importsIn(path, readFileSync(path, 'utf8'))]));
const { near, furtherCount } = nearTests(imports, code, { stepsMax: 2, filesMax: 30 });
say(`${changed.length} files changed since ${since}; ${near.length} tests are near, ${furtherCount} further away`);

const results = await Promise.all([
  changed.length === 0 || run('form', ['prettier', '--check', '--ignore-unknown', ...changed]),
  run('types', ['tsc', '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', `${cache}/lib.tsbuildinfo`]),
  run('types of cdk', [
    ...['tsc', '-p', 'cdk/tsconfig.json', '--incremental', '--tsBuildInfoFile', `${cache}/cdk.tsbuildinfo`],
  ]),
  code.length === 0 || run('lint', ['eslint', '--cache', '--cache-location', `${cache}/eslint`, ...code]),
  near.length === 0 || run('tests', ['vitest', 'run', '--reporter=dot', ...near]),
]);
say(`${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
if (results.includes(false)) process.exitCode = 1;

function baseCommit(): string {
  const [head] = lines('rev-parse', 'HEAD');
  const [base] = lines('merge-base', 'main', 'HEAD');
  if (base !== undefined && base !== head) return base;
  return lines('status', '--porcelain').length === 0 ? 'HEAD~1' : 'HEAD';
}

/** Returns the lines that a Git command prints; none if it fails. */
function lines(...args: readonly string[]): readonly string[] {
  const { stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line !== '');
}

/** Runs a command and returns whether it succeeds. Its output is shown when it ends, and only if it fails. */
async function run(name: string, [program = '', ...args]: readonly string[]): Promise<boolean> {
  const child = spawn(`node_modules/.bin/${program}`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const take = (data: Buffer): void => void (output += data.toString());
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const exitCode = await new Promise((resolve) => child.on('close', resolve));
  say(
    `${exitCode === 0 ? 'passed' : 'failed'}: ${name}, after ${((performance.now() - startMs) / 1_000).toFixed(0)} s`,
  );
  if (exitCode !== 0) say(output);
  return exitCode === 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
