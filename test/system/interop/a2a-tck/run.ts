// Runs the compatibility kit of the A2A project against local mode, over JSON-RPC and HTTP+JSON, and prints what came
// out by category and level. Not part of CI, which has no foreign code.
//
//   npm run tck -- <checkout of a2aproject/a2a-tck, branch 1.0-dev> [--python <interpreter>]
//
// The interpreter needs Python 3.11 or newer with the kit's packages. Default: that of the checkout's `.venv`. Exits with
// 1 if a mandatory requirement fails that `known-failures.ts` does not name.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { knownFailures } from './known-failures.js';
import { categoriesOf, failuresOf, merged, type Report, table } from './report.js';

const bin = fileURLToPath(new URL('../../../../bin/outwait.js', import.meta.url));
const config = fileURLToPath(new URL('outwait.config.ts', import.meta.url));

const { positionals, values } = parseArgs({ allowPositionals: true, options: { python: { type: 'string' } } });
const [given] = positionals;
if (given === undefined || !existsSync(join(given, 'run_tck.py'))) {
  say('usage: npm run tck -- <checkout of a2aproject/a2a-tck, branch 1.0-dev> [--python <interpreter>]');
  process.exit(2);
}
const kit = resolve(given);
const ownPython = join(kit, '.venv', 'bin', 'python');
const python = values.python ?? (existsSync(ownPython) ? ownPython : 'python3');

const whole = await reportOn('whole', []);
// What an agent refuses that has no extended card and requires an extension: the kit's other requests do not name it.
const strict = await reportOn('strict', ['-k', 'TestCapabilityExtensionRequired or TestCapabilityExtendedCard']);
process.exitCode = print(merged(whole, strict));

/** Runs the kit, or the part that `pytest` selects, against an agent. */
async function reportOn(agent: 'whole' | 'strict', pytest: readonly string[]): Promise<Report> {
  const state = await mkdtemp(join(tmpdir(), 'outwait-tck-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [bin, 'dev', '--port', String(port), '--config', config, '--state', state];
  const env = { ...process.env, TCK_AGENT: agent, TCK_URL: url };
  const dev = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await ready(dev);
    await runKit(url, pytest);
    return JSON.parse(await readFile(join(kit, 'reports', 'compatibility.json'), 'utf8')) as Report;
  } finally {
    const isOver = once(dev, 'exit');
    if (dev.kill('SIGTERM')) await isOver;
    await rm(state, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Resolves once local mode says that it is ready. */
async function ready({ stdout }: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: stdout! })) if (line.includes('ready at')) return;
  throw new Error('local mode did not start');
}

/** Runs the kit, which exits with 1 if any requirement fails. */
async function runKit(url: string, pytest: readonly string[]): Promise<void> {
  const args = ['run_tck.py', '--sut-host', url, '--transport', 'jsonrpc,http_json', '--', ...pytest];
  const run = spawn(python, args, { cwd: kit, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(run, 'exit')) as [number | null];
  if (code !== 0 && code !== 1) throw new Error(`the kit ended with ${String(code)}`);
}

function commitOf(folder: string): string {
  try {
    return execFileSync('git', ['-C', folder, 'rev-parse', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return 'unknown';
  }
}

/** Prints the figures and what failed. Returns the exit code. */
function print(report: Report): number {
  say(`kit: commit ${commitOf(kit)}\n`);
  say(table(categoriesOf(report)));
  const failures = failuresOf(report);
  for (const { id, level, transports, errors } of failures) {
    const reason = knownFailures[id];
    say(`\n${level} ${id} over ${transports}${reason === undefined ? '' : `\n  known: ${reason}`}`);
    for (const error of errors) say(`  ${error}`);
  }
  const unknown = failures.filter(({ id, level }) => level === 'MUST' && knownFailures[id] === undefined);
  const over = Object.keys(knownFailures).filter((id) => failures.every((failure) => failure.id !== id));
  if (over.length > 0) say(`\nknown-failures.ts names what did not fail: ${over.join(', ')}`);
  say(unknown.length === 0 ? '\nEvery mandatory failure is known.' : `\n${unknown.length} unknown mandatory failures`);
  return unknown.length === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
