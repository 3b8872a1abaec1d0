import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { bundle } from '../../../lib/bundle/bundle.js';
import { loadApp } from '../../../lib/aws/load-app.js';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function aFolder(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-app-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

async function load(files: Record<string, string>) {
  const folder = await aFolder(files);
  return loadApp(join(folder, 'outwait.config.ts'), join(folder, 'build'));
}

describe('the app of a configuration', () => {
  it('is bundled with what it imports, outwait among it', async () => {
    const app = await load({
      'outwait.config.ts':
        "import { defineApp } from 'outwait'; import { hello } from './hello.js'; export default defineApp({ workflows: [hello] });",
      'hello.ts':
        "import { defineWorkflow } from 'outwait'; export const hello = defineWorkflow({ name: 'hello', run: async () => 1 as number });",
    });
    expect([...app.workflows.keys()]).toEqual(['hello']);
  });

  it('keeps the names of its error classes', async () => {
    const app = await load({
      'outwait.config.ts':
        "import { defineApp, defineWorkflow } from 'outwait'; class OutOfPaper extends Error { constructor() { super(); this.name = new.target.name; } } export default defineApp({ workflows: [defineWorkflow({ name: 'a', run: async () => { throw new OutOfPaper() } })] });",
    });
    await expect(app.workflows.get('a')!.run({} as never, null)).rejects.toMatchObject({ name: 'OutOfPaper' });
  });

  it('may call require from a CommonJS module', async () => {
    const folder = await aFolder({
      'outwait.config.ts': "import { os } from './old.cjs'; console.log(os); export default 1;",
      'old.cjs': "const os = require('node:os'); exports.os = os.platform();",
    });
    const { app } = await bundle({ configFile: join(folder, 'outwait.config.ts'), outDir: join(folder, 'build') });
    // Runs in a separate process, since the test loader gives every module a require.
    expect(execFileSync(process.execPath, [app!], { encoding: 'utf8' })).toBe(`${process.platform}\n`);
  });

  it('is refused if what it serves cannot be served', async () => {
    const loading = load({
      'outwait.config.ts': `
        import { defineApp, defineWorkflow } from 'outwait';
        const a = defineWorkflow({ name: 'a', run: async () => 1 as number });
        export default defineApp({
          workflows: [a],
          serve: { agent: { name: 'Desk', description: 'Answers', url: 'nowhere' }, skills: { a: { description: 'x' } } },
        });`,
    });
    await expect(loading).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('is not valid: serve.agent.url must be an http(s) URL') as string,
    });
  });

  it('has the whole of a package of which outwait itself bundles parts', async () => {
    const folder = await aFolder({
      'outwait.config.ts': `
        import { defineApp, defineWorkflow } from 'outwait';
        import { multistream } from 'pino';
        import { fetch, MockAgent } from 'undici';
        const kinds = [fetch, MockAgent, multistream].map((part) => typeof part);
        export default defineApp({ workflows: [defineWorkflow({ name: kinds.join('.'), run: async () => 1 })] });`,
    });
    await symlink(
      fileURLToPath(new URL('../../../node_modules', import.meta.url)),
      join(folder, 'node_modules'),
      'junction',
    );
    const app = await loadApp(join(folder, 'outwait.config.ts'), join(folder, 'build'));
    expect([...app.workflows.keys()]).toEqual(['function.function.function']);
  });

  it('is loaded anew when the configuration has changed', async () => {
    const folder = await aFolder({});
    const names: string[][] = [];
    for (const name of ['before', 'after']) {
      await writeFile(
        join(folder, 'outwait.config.ts'),
        `import { defineApp, defineWorkflow } from 'outwait'; export default defineApp({ workflows: [defineWorkflow({ name: '${name}', run: async () => 1 })] });`,
      );
      names.push([...(await loadApp(join(folder, 'outwait.config.ts'), join(folder, 'build'))).workflows.keys()]);
    }
    expect(names).toEqual([['before'], ['after']]);
  });

  it.each([
    ['that is not there', {}, 'there is no configuration at'],
    ['that is no TypeScript', { 'outwait.config.ts': 'export default {' }, 'cannot be bundled:'],
    [
      'that imports what is not there',
      { 'outwait.config.ts': "import './nowhere.js'; export default 1;" },
      'Could not resolve "./nowhere.js"',
    ],
    [
      'without an app',
      { 'outwait.config.ts': 'export default { workflows: [] };' },
      'must have an app as its default export',
    ],
    ['without a default export', { 'outwait.config.ts': 'export const app = 1;' }, 'outwait.config.ts'],
    [
      'that defineApp refuses',
      {
        'outwait.config.ts':
          "import { defineApp } from 'outwait'; export default defineApp({ workflows: 7 as never });",
      },
      'is not valid: workflows must be a list of workflows',
    ],
    [
      'with a schedule whose cron is wrong',
      {
        'outwait.config.ts':
          "import { defineApp, defineWorkflow } from 'outwait'; const a = defineWorkflow({ name: 'a', run: async () => 1 }); export default defineApp({ workflows: [a], schedules: [{ name: 'nightly', workflow: a, cron: '61 2 * * *' }] });",
      },
      'is not valid: schedule "nightly": ',
    ],
    [
      'with a schedule whose cron means no day',
      {
        'outwait.config.ts':
          "import { defineApp, defineWorkflow } from 'outwait'; const a = defineWorkflow({ name: 'a', run: async () => 1 }); export default defineApp({ workflows: [a], schedules: [{ name: 'nightly', workflow: a, cron: '0 0 31 2 *' }] });",
      },
      'is not valid: schedule "nightly": cron never matches a date',
    ],
    [
      'with a schedule whose input its workflow refuses',
      {
        'outwait.config.ts':
          "import { defineApp, defineWorkflow } from 'outwait'; const input = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'must be a month', path: ['month'] }] }) } } as const; const a = defineWorkflow({ name: 'a', input, run: async () => 1 }); export default defineApp({ workflows: [a], schedules: [{ name: 'nightly', workflow: a, every: { minutes: 5 } }] });",
      },
      'is not valid: schedule "nightly": the input of workflow "a" is not valid: month: must be a month',
    ],
    ['that throws', { 'outwait.config.ts': "throw new Error('boom'); export default 1;" }, 'cannot be loaded: boom'],
    [
      'that throws no error',
      { 'outwait.config.ts': 'throw 7; export default 1;' },
      'cannot be loaded: it threw a value that is not an Error',
    ],
  ])(
    'is refused for a configuration %s, with the name of the file',
    async (_what, files: Record<string, string>, message) => {
      const error = await load(files).catch((thrown: unknown) => thrown as Error & { code: string });
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      expect((error as Error).message).toContain('outwait.config.ts');
      expect((error as Error).message).toContain(message);
    },
  );
});
