// Takes one rule at a time out of the engine and expects the test that is named for it to fail. `npm run mutants [--
// <name> …]`: all mutants, or those whose name contains one of the words.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import type { Mutant } from './mutant.js';
import { mutants } from './mutants.js';

/** The part of vitest's JSON report that is read here. */
interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

type Verdict =
  | { readonly kind: 'caught'; readonly by: string }
  | { readonly kind: 'survived' }
  /** The result says nothing: the test does not pass without the mutant either, or the mutant does not run. */
  | { readonly kind: 'broken'; readonly why: string };

/** A call of vitest. */
interface TestRun {
  readonly files: readonly string[];
  /** Pattern of the tests' full names. Default: all. */
  readonly pattern?: string;
  readonly seeds?: number;
  readonly mutant?: string;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const simulationFile = 'test/simulation/simulation.test.ts';

async function main(words: readonly string[]): Promise<number> {
  const chosen = mutants.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  const folder = await mkdtemp(join(tmpdir(), 'mutants-'));
  try {
    const inParallel = pLimit(Math.min(availableParallelism(), 4));
    const run = (test: TestRun): Promise<Report> =>
      inParallel(() => runTests(test, join(folder, `${randomUUID()}.json`)));
    const unchanged = await Promise.all(unchangedRuns(chosen).map(run));
    const verdicts = await Promise.all(chosen.map((mutant) => judge(mutant, unchanged, run)));
    const caught = verdicts.filter(({ kind }) => kind === 'caught').length;
    write(`${caught} passed, ${verdicts.length - caught} failed`);
    return caught === verdicts.length ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the tests of these mutants on the unchanged engine: a test that fails anyway catches nothing. */
function unchangedRuns(chosen: readonly Mutant[]): readonly TestRun[] {
  const files = new Set(chosen.flatMap(({ caughtBy }) => (caughtBy.kind === 'rules' ? [caughtBy.file] : [])));
  const simulations = new Map(
    chosen.flatMap(({ caughtBy }) => (caughtBy.kind === 'simulation' ? [[testRunOf(caughtBy).pattern, caughtBy]] : [])),
  );
  return [...(files.size > 0 ? [{ files: [...files] }] : []), ...[...simulations.values()].map(testRunOf)];
}

async function judge(
  mutant: Mutant,
  unchanged: readonly Report[],
  run: (test: TestRun) => Promise<Report>,
): Promise<Verdict> {
  const test = testRunOf(mutant.caughtBy);
  const before = problemOf(unchanged, test);
  const verdict: Verdict =
    before === undefined
      ? verdictOn(await run({ ...test, mutant: mutant.name }), test)
      : { kind: 'broken', why: `without the mutant: ${before}` };
  print(mutant, verdict);
  return verdict;
}

function testRunOf(caughtBy: Mutant['caughtBy']): TestRun & { readonly pattern: string } {
  if (caughtBy.kind === 'rules') return { files: [caughtBy.file], pattern: `^${escaped(caughtBy.test)}` };
  // vitest puts quotes around the name of a scenario.
  const pattern = `^.?${escaped(caughtBy.scenario)}.? breaks no rule`;
  return { files: [simulationFile], pattern, seeds: caughtBy.seeds };
}

async function runTests({ files, pattern, seeds, mutant }: TestRun, reportPath: string): Promise<Report> {
  const child = spawn(
    process.execPath,
    [
      ...[vitest, 'run', ...files, ...(pattern === undefined ? [] : ['-t', pattern])],
      // Tests share nothing, and a start costs more than most of them.
      ...['--pool=threads', '--no-isolate', ...(mutant === undefined ? [] : ['--bail=1'])],
      ...['--reporter=json', `--outputFile=${reportPath}`],
    ],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        MUTANT: mutant ?? '',
        ...(seeds === undefined ? {} : { SIM_FIRST: '1', SIM_SEEDS: String(seeds) }),
      },
    },
  );
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  try {
    return JSON.parse(await readFile(reportPath, 'utf8')) as Report;
  } catch {
    return { testResults: [{ message: errors.trim() || 'vitest left no report', assertionResults: [] }] };
  }
}

/** Returns the verdict. A mutant is caught if an expectation failed; any other error means that it does not run. */
function verdictOn(report: Report, test: TestRun): Verdict {
  const failure = testsOf([report], test).find(({ status }) => status === 'failed')?.failureMessages[0];
  if (failure === undefined) {
    const why = problemOf([report], test);
    return why === undefined ? { kind: 'survived' } : { kind: 'broken', why };
  }
  const why = /\bexpected .*/.exec(failure)?.[0];
  return why === undefined || !failure.startsWith('AssertionError') || why.includes('unexpected-error')
    ? { kind: 'broken', why: failure.split('\n')[0] ?? '' }
    : { kind: 'caught', by: why };
}

/** Returns why these are not reports of a test that passed; undefined if they are. */
function problemOf(reports: readonly Report[], test: TestRun): string | undefined {
  const tests = testsOf(reports, test);
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed !== undefined) return `"${failed.fullName}" ${failed.failureMessages[0]?.split('\n')[0] ?? ''}`;
  if (tests.length > 0) return undefined;
  const messages = reports.flatMap(({ testResults }) => testResults.map(({ message }) => message.split('\n')[0] ?? ''));
  return messages.find((message) => message !== '') ?? 'no test has that name';
}

/** Returns the tests that were run and match `pattern`. */
function testsOf(
  reports: readonly Report[],
  { pattern = '' }: TestRun,
): Report['testResults'][number]['assertionResults'] {
  return reports
    .flatMap(({ testResults }) => testResults.flatMap(({ assertionResults }) => assertionResults))
    .filter(
      ({ fullName, status }) => (status === 'passed' || status === 'failed') && new RegExp(pattern).test(fullName),
    );
}

function print({ name, rule }: Mutant, verdict: Verdict): void {
  const detail = verdict.kind === 'caught' ? verdict.by : verdict.kind === 'broken' ? verdict.why : rule;
  write(`${verdict.kind.padEnd(8)}  ${name.padEnd(32)}  ${detail.slice(0, 110)}`);
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

process.exitCode = await main(process.argv.slice(2));
