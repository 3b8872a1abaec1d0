import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { run } from '../../../unit/cli/in-process.js';
import { read } from '../pages.js';
import { openScene, printed, type Scene } from './scene.js';

// What the command line prints stands in docs/reference.md. `WRITE=1` in front of the test writes it there.

const page = 'docs/reference.md';
const root = new URL('../../../../', import.meta.url);

/** Expects a part of the page between its marks, or writes it. */
function expectOnPage(name: string, content: string): void {
  const text = read(page);
  const [begin, end] = [`<!-- ${name}, written by a test -->\n\n`, `\n\n<!-- end of ${name} -->`];
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end);
  expect(to).toBeGreaterThan(from);
  if (process.env['WRITE'] === '1') writeFileSync(new URL(page, root), text.slice(0, from) + content + text.slice(to));
  else expect(text.slice(from, to)).toBe(content);
}

const block = (text: string): string => `\`\`\`text\n${text}\n\`\`\``;
/** Lines that are too long although they could be broken. */
const tooLong = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line.length > 80 && line.trim().includes(' '));

const hasScript = spawnSync('script', ['--version']).status === 0;

describe.runIf(hasScript)('transcripts', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  });
  afterAll(() => scene.close());

  it('of list, show, why, watch and inputs, on a terminal of 80 columns and piped, stand on the page', async () => {
    const { report, blocked, greeting } = scene.ids;
    const commands = [
      ['list'],
      ['list', '--status', 'blocked'],
      ['show', 'october'],
      ['show', report.slice(0, 8)],
      ['why', 'october'],
      ['why', blocked],
      ['watch', greeting],
      ['inputs'],
    ];
    const shown: string[] = [];
    for (const args of commands) {
      const line = `$ outwait ${args.join(' ')}`;
      const [onTerminal, piped] = await Promise.all([
        printed(scene, args, { terminal: true, env: { NO_COLOR: '1' } }),
        printed(scene, args),
      ]);
      expect(tooLong(onTerminal)).toEqual([]);
      shown.push(block(`${line}\n${onTerminal}\n\n${line} | cat\n${piped}`));
    }
    expectOnPage('transcripts', shown.join('\n\n'));
  });

  it('have colour on a terminal, unless it is not wanted, and none in a pipe', async () => {
    const escape = '\u001b[';
    expect(await printed(scene, ['list'], { terminal: true })).toContain(`${escape}36mrunning`);
    expect(await printed(scene, ['list', '--no-color'], { terminal: true })).not.toContain(escape);
    expect(await printed(scene, ['list'])).not.toContain(escape);
    expect(await printed(scene, ['list'], { env: { FORCE_COLOR: '1' } })).toContain(`${escape}36mrunning`);
    const { blocked } = scene.ids;
    expect(await printed(scene, ['why', blocked], { terminal: true })).toContain(`${escape}31mNONDETERMINISM`);
  });
});

describe('the help of every command', () => {
  beforeEach(() => {
    for (const name of ['OUTWAIT_URL', 'OUTWAIT_SERVE_URL']) vi.stubEnv(name, undefined);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('stands on the page, and fits 80 columns', async () => {
    const shown: string[] = [];
    const add = async (...words: readonly string[]): Promise<void> => {
      const text = (await run(...words, '--help')).out.trimEnd();
      expect(tooLong(text)).toEqual([]);
      shown.push(block(`$ outwait ${[...words, '--help'].join(' ')}\n${text}`));
      for (const name of commandsIn(text)) await add(...words, name);
    };
    await add();
    expect(shown.length).toBeGreaterThan(45);
    expectOnPage('help', shown.join('\n\n'));
  });
});

function commandsIn(help: string): readonly string[] {
  const [, list = ''] = help.split('\nCommands:\n');
  return [...list.matchAll(/^ {2}([a-z][\w-]*)/gm)].flatMap(([, name = '']) => (name === 'help' ? [] : [name]));
}
