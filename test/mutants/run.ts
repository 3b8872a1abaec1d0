// Takes one rule at a time out of the engine and expects the test that is named for it to fail.
// `npm run mutants [-- <name> …]`: all mutants, or those whose name contains one of the words.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { mutants, type Mutant } from './mutants.js';

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
  /** Nothing was learned: the test does not pass without the mutant either, or the mutant is no program that runs. */
  | { readonly kind: 'broken'; readonly why: string };

const root = fileURLToPath(new URL('../../', import.meta.url));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

async function main(words: readonly string[]): Promise<number> {
  const chosen = mutants.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  const folder = await mkdtemp(join(tmpdir(), 'mutants-'));
  const inTurn = pLimit(Math.min(availableParallelism(), 4));
  try {
    const unchanged = new Map<string, Promise<Report>>();
    const unchangedReport = (mutant: Mutant): Promise<Report> => {
      const key = JSON.stringify(mutant.caughtBy);
      const report = unchanged.get(key) ?? inTurn(() => runTest(mutant, join(folder, `unchanged-${unchanged.size}.json`)));
      unchanged.set(key, report);
      return report;
    };
    const verdicts = await Promise.all(
      chosen.map(async (mutant) => {
        const before = problemOf(await unchangedReport(mutant));
        const verdict: Verdict =
          before !== undefined
            ? { kind: 'broken', why: `without the mutant: ${before}` }
            : verdictOn(await inTurn(() => runTest(mutant, join(folder, `${mutant.name}.json`), mutant.name)));
        print(mutant, verdict);
        return verdict;
      }),
    );
    const passed = verdicts.filter(({ kind }) => kind === 'caught').length;
    write(`${passed} passed, ${verdicts.length - passed} failed`);
    return passed === verdicts.length ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runTest({ caughtBy }: Mutant, reportPath: string, mutantName?: string): Promise<Report> {
  const isRules = caughtBy.kind === 'rules';
  const file = isRules ? caughtBy.file : 'test/simulation/simulation.test.ts';
  const name = isRules ? caughtBy.test : `${caughtBy.scenario} breaks no rule`;
  const { MUTANT: _, ...env } = process.env;
  const child = spawn(
    process.execPath,
    [vitest, 'run', file, '-t', `^${escaped(name)}`, '--bail=1', '--reporter=json', `--outputFile=${reportPath}`],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...env,
        ...(mutantName === undefined ? {} : { MUTANT: mutantName }),
        ...(isRules ? {} : { SIM_FIRST: '1', SIM_SEEDS: String(caughtBy.seeds) }),
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

function verdictOn(report: Report): Verdict {
  const failure = testsRun(report).find(({ status }) => status === 'failed')?.failureMessages[0];
  if (failure === undefined) {
    const why = problemOf(report);
    return why === undefined ? { kind: 'survived' } : { kind: 'broken', why };
  }
  const [message = ''] = failure.split('\n');
  return /^AssertionError/.test(message) && !/unexpected-error/.test(message)
    ? { kind: 'caught', by: message.replace('AssertionError: ', '') }
    : { kind: 'broken', why: message };
}

/** Why the report is not one of tests that all passed; undefined if it is. */
function problemOf(report: Report): string | undefined {
  const tests = testsRun(report);
  const failed = tests.find(({ status }) => status !== 'passed');
  if (failed !== undefined) return `"${failed.fullName}" ${failed.failureMessages[0]?.split('\n')[0] ?? failed.status}`;
  if (tests.length > 0) return undefined;
  return report.testResults.map(({ message }) => message.split('\n')[0]).find((message) => message !== '') ?? 'no test has that name';
}

function testsRun({ testResults }: Report): Report['testResults'][number]['assertionResults'] {
  return testResults.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === 'passed' || status === 'failed');
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
