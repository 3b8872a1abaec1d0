import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../lib/base/log.js';
import { completionScripts, type Shell } from '../../../lib/cli/completion-scripts.js';
import { type LocalEngine, startLocalEngine } from '../../../lib/local/engine.js';
import { MemoryTable } from '../../../lib/store/memory/memory-table.js';
import { TokenKeys } from '../../../lib/tokens/token-keys.js';
import { defineApp } from '../../../lib/workflow/app.js';
import { defineWorkflow } from '../../../lib/workflow/define-workflow.js';
import { run } from './in-process.js';

const bin = fileURLToPath(new URL('../../../bin/outwait.js', import.meta.url));
const waits = defineWorkflow({ name: 'monthlyReport', run: (ctx) => ctx.sleep({ hours: 1 }) });

let engine: LocalEngine;
let runId: string;
let folder: string;
beforeAll(async () => {
  engine = await startLocalEngine({
    app: defineApp({ workflows: [waits] }),
    table: new MemoryTable(),
    tokens: new TokenKeys([{ keyId: 'local', secret: new Uint8Array(32) }]),
    log: silentLog,
    port: 0,
  });
  runId = (await run('start', 'monthlyReport', '--url', engine.url)).out.trim();
  folder = mkdtempSync(join(tmpdir(), 'outwait-completion-'));
  writeFileSync(join(folder, 'outwait'), `#!/bin/sh\nexec ${process.execPath} ${bin} "$@"\n`, { mode: 0o755 });
  writeFileSync(join(folder, 'orders.json'), '{}');
  for (const [shell, script] of Object.entries(completionScripts)) writeFileSync(join(folder, shell), `${script}\n`);
});
afterAll(async () => {
  await engine.stop();
  rmSync(folder, { recursive: true });
});

/** Returns the candidates for the last word. */
const completed = async (...words: readonly string[]): Promise<readonly string[]> =>
  (await run('complete-words', '--', ...words)).out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[0]!);

describe('a command line is completed (F45)', () => {
  it('with commands and their subcommands', async () => {
    expect(await completed('li')).toEqual(['list', 'lint']);
    expect(await completed('schedules', '')).toEqual(['list', 'pause', 'resume', 'help']);
    expect(await completed('complete-w')).toEqual([]);
  });

  it('with options, and their choices', async () => {
    expect(await completed('list', '--s')).toEqual(['--sigv4', '--status']);
    expect(await completed('list', '--no')).toEqual(['--no-color']);
    expect(await completed('list', '--status', 'b')).toEqual(['blocked']);
    expect(await completed('list', '--status=pa')).toEqual(['--status=paused']);
    // As bash takes it apart.
    expect(await completed('list', '--status', '=', 'pa')).toEqual(['--status=paused']);
    expect(await completed('completion', 'z')).toEqual(['zsh']);
  });

  it('with workflows and runs of the engine that it names', async () => {
    expect(await completed('start', '--url', engine.url, 'm')).toEqual(['monthlyReport']);
    expect(await completed('list', '--url', engine.url, '--workflow', '')).toEqual(['monthlyReport']);
    expect(await completed('show', `--url=${engine.url}`, runId.slice(0, 3))).toEqual([runId]);
    expect(await completed('signal', '--url', engine.url, '--payload', '{}', '')).toEqual([runId]);
    expect(await completed('show', '--url', 'http://127.0.0.1:2', '')).toEqual([]);
  });

  it('with files, where there is a file or a payload', async () => {
    for (const words of [
      ['start', 'x', '--input', '@or'],
      ['start', 'x', '--input', '@', 'or'],
      ['lint', ''],
      ['replay', '--from', ''],
    ])
      expect(await completed(...words)).toEqual([':files']);
    expect(await completed('start', 'x', '--wait', '--key', '')).toEqual([]);
  });
});

const has = (shell: Shell): boolean => spawnSync(shell, ['--version']).status === 0;
/** Runs a line of a shell which has the script. */
function inShell(shell: Shell, args: readonly string[]): readonly string[] {
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}`, OUTWAIT_URL: engine.url, HOME: folder };
  return execFileSync(shell, args, { encoding: 'utf8', env, cwd: folder })
    .split('\n')
    .filter((line) => line !== '');
}

// The engine of this process cannot answer while it waits for a shell, so the shells complete without one.
describe.runIf(has('bash'))('bash (F45)', () => {
  const reply = (...words: readonly string[]) => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const line = `set -u; source ./bash; source ./bash; COMP_WORDS=(outwait ${list}); COMP_CWORD=${words.length}; _outwait; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return inShell('bash', ['--norc', '-c', line]);
  };

  it('offers commands, options and choices', () => {
    expect(reply('sch')).toEqual(['schedules']);
    expect(reply('list', '--st')).toEqual(['--status']);
    expect(reply('list', '--status', 'bl')).toEqual(['blocked']);
    expect(reply('list', '--status', '=', 'bl')).toEqual(['blocked']);
    expect(inShell('bash', ['--norc', '-c', 'source ./bash; complete -p outwait'])).toEqual([
      'complete -F _outwait outwait',
    ]);
  });
});

describe.runIf(has('fish'))('fish (F45)', () => {
  const reply = (line: string) => inShell('fish', ['--no-config', '-c', `source ./fish; complete -C '${line}'`]);

  it('offers commands with what they do, options, choices and files', () => {
    expect(reply('outwait sched')).toEqual(['schedules\tmanage the schedules of the configuration']);
    expect(reply('outwait list --st')).toEqual(['--status\tonly runs with this status']);
    expect(reply('outwait list --status bl')).toEqual(['blocked']);
    expect(reply('outwait start x --input @ord')).toEqual(['@orders.json']);
    expect(reply('outwait lint ord')).toEqual(['orders.json']);
  });
});

describe.runIf(has('zsh'))('zsh (F45)', () => {
  /** The parts of its completion system are stood in for: they need a terminal. */
  const reply = (...words: readonly string[]) => {
    const list = words.map((word) => `'${word}'`).join(' ');
    const standIns = `_describe() { print -l -- "\${(@P)2}" }; _files() { print files }; compset() { print -r -- "$*" }; compdef() { print "$*" }`;
    const line = `${standIns}; source ./zsh; words=(outwait ${list}); CURRENT=${words.length + 1}; _outwait; true`;
    return inShell('zsh', ['-f', '-c', line]);
  };

  it('offers commands with what they do, options, choices and files', () => {
    expect(reply('sched')).toEqual(['_outwait outwait', 'schedules:manage the schedules of the configuration']);
    expect(reply('list', '--st')).toEqual(['_outwait outwait', '--status:only runs with this status']);
    expect(reply('list', '--status', 'bl')).toEqual(['_outwait outwait', 'blocked:']);
    expect(reply('start', 'x', '--input', '@ord')).toEqual(['_outwait outwait', '-P @', 'files']);
    expect(reply('nothing', 'of', 'this')).toEqual(['_outwait outwait']);
  });
});
