import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { addLintCommand } from '../../../lib/cli/commands/lint.js';

const workflow = (body: string): string =>
  `import { defineWorkflow } from 'outwait';
export const flow = defineWorkflow({ name: 'flow', run: async (ctx) => ${body} });
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outwait-lint-'));
  await mkdir(join(folder, 'flows/node_modules/other'), { recursive: true });
  await writeFile(join(folder, 'flows/bad.ts'), workflow('[Date.now(), Math.random()]'));
  await writeFile(join(folder, 'flows/good.ts'), workflow('ctx.now()'));
  await writeFile(join(folder, 'flows/types.d.ts'), 'export declare const a = ;');
  await writeFile(join(folder, 'flows/notes.md'), 'const a = ;');
  await writeFile(join(folder, 'flows/node_modules/other/index.js'), workflow('Date.now()'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let printed = '';
beforeEach(() => {
  printed = '';
  vi.spyOn(console, 'log').mockImplementation((text: string) => {
    printed += `${text}\n`;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** Runs the command and returns the exit code that it sets. */
async function lint(...args: string[]): Promise<NodeJS.Process['exitCode']> {
  process.exitCode = undefined;
  const program = new Command('outwait').exitOverride().configureOutput({ writeErr: () => undefined });
  addLintCommand(program);
  await program.parseAsync(['node', 'outwait', 'lint', ...args]);
  return process.exitCode;
}

it('prints each finding with its place and rule, and ends with 1', async () => {
  expect(await lint(join(folder, 'flows'))).toBe(1);
  expect(printed).toBe(
    `${folder}/flows/bad.ts:2:73  no-clock  Date.now differs on replay; use ctx.now()
${folder}/flows/bad.ts:2:85  no-random  Math.random differs on replay; use ctx.random()
2 findings in 2 files
`,
  );
});

it('ends with 0 without findings', async () => {
  expect(await lint(join(folder, 'flows/good.ts'))).toBeUndefined();
  expect(printed).toBe('0 findings in 1 file\n');
});

it('prints one line of JSON', async () => {
  expect(await lint('--json', join(folder, 'flows/bad.ts'), join(folder, 'flows/bad.ts'))).toBe(1);
  expect(printed.trim().split('\n')).toHaveLength(1);
  expect(JSON.parse(printed)).toEqual({
    files: 1,
    findings: [
      {
        file: join(folder, 'flows/bad.ts'),
        rule: 'no-clock',
        line: 2,
        column: 73,
        message: 'Date.now differs on replay; use ctx.now()',
      },
      {
        file: join(folder, 'flows/bad.ts'),
        rule: 'no-random',
        line: 2,
        column: 85,
        message: 'Math.random differs on replay; use ctx.random()',
      },
    ],
  });
});

it('ends with 2 for a file that is not there, and for an option that does not exist', async () => {
  await expect(lint(join(folder, 'missing.ts'))).rejects.toMatchObject({
    name: 'CliError',
    exitCode: 2,
    message: `${join(folder, 'missing.ts')} cannot be read (ENOENT)`,
  });
  await expect(lint('--fix')).rejects.toMatchObject({ code: 'commander.unknownOption' });
});

it('finds nothing in the examples of this repository', async () => {
  const examples = ['monthly-report', 'supplier-quote'].map((name) => `examples/${name}/workflow.ts`);
  expect(await lint(...examples)).toBeUndefined();
  expect(printed).toBe('0 findings in 2 files\n');
});
