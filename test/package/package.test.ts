import { spawn } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnv, pack, type Packed, root, runIn, succeedIn, temporaryFolder } from './packed.js';

let place: Awaited<ReturnType<typeof temporaryFolder>>;
let packed: Packed;
/** A project that contains nothing but the package. */
let project: string;

beforeAll(async () => {
  place = await temporaryFolder();
  packed = await pack(place.folder);
  project = join(place.folder, 'project');
  await mkdir(project);
  await writeFile(join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }');
  await succeedIn(project, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', packed.file);
}, 300_000);
afterAll(() => place.remove());

describe('the published package', () => {
  it('holds the built code, the command, and what a reader needs, and nothing else', () => {
    expect([...new Set(packed.paths.map((path) => path.split('/')[0]))].sort()).toEqual([
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin',
      'dist',
      'docs',
      'package.json',
    ]);
    const unbuilt = packed.paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    expect(unbuilt).toEqual([]);
    expect(packed.paths).toEqual(
      expect.arrayContaining(['bin/outwait.js', 'dist/lib/cli.js', 'dist/lib/index.d.ts', 'dist/cdk/index.d.ts']),
    );
  });

  it('has a workflow and a test kit that run together', async () => {
    await writeFile(
      join(project, 'use.mjs'),
      `import { defineApp, defineWorkflow, mcpServer } from 'outwait';
       import { createTestApp, replayHistory, scriptedServer } from 'outwait/testing';
       const report = defineWorkflow({
         name: 'report',
         run: async (ctx) => (await ctx.callRemoteTask({ server: 'reports', tool: 'export' })).result,
       });
       const app = defineApp({ workflows: [report], servers: { reports: mcpServer({ url: 'https://reports.example.com/mcp' }) } });
       const servers = { reports: scriptedServer({ protocol: 'mcp', task: () => ({ after: { hours: 5 }, result: { rows: 3 } }) }) };
       const test = createTestApp(app, { servers });
       const runId = await test.start(report);
       const outcome = await test.runToEnd(runId);
       const { kind } = await replayHistory(app, await test.history(runId));
       console.log(JSON.stringify({ outcome, kind }));`,
    );
    const stdout = await succeedIn(project, process.execPath, 'use.mjs');
    expect(JSON.parse(stdout)).toEqual({ outcome: { status: 'completed', result: { rows: 3 } }, kind: 'clean' });
  });

  it('has types that check, its own and those of a workflow on top of them', async () => {
    await writeFile(
      join(project, 'use.ts'),
      `import { defineApp, defineWorkflow, isEngineError, type RemoteOutcome, type WorkflowContext } from 'outwait';
       import { createTestApp, type HistoryView } from 'outwait/testing';
       async function ask(ctx: WorkflowContext): Promise<RemoteOutcome> {
         return ctx.callRemoteTask({ server: 'reports', tool: 'export', timeout: { hours: 6 } });
       }
       const flow = defineWorkflow<{ readonly month: string }, string>({
         name: 'flow',
         async run(ctx, { month }) {
           try {
             return (await ask(ctx)).server + month;
           } catch (error) {
             return isEngineError(error) ? error.code : 'other';
           }
         },
       });
       // @ts-expect-error -- a workflow has to have a name
       defineWorkflow({ run: async () => 1 });
       export const history = async (): Promise<HistoryView> => {
         const app = createTestApp(defineApp({ workflows: [flow] }));
         return app.history(await app.start(flow, { month: '2026-10' }));
       };`,
    );
    await writeFile(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'ES2023',
          module: 'NodeNext',
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: false,
          noEmit: true,
          types: ['node'],
          typeRoots: [join(root, 'node_modules/@types')],
        },
        files: ['use.ts'],
      }),
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    expect(await runIn(project, process.execPath, tsc, '-p', '.')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('has a command that tells its version', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(await runIn(project, 'npx', '--no-install', 'outwait', '--version')).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  it('has a construct that bundles the workflows of a CDK app of one, and types for it', async () => {
    // A CDK app has these packages; a link saves an installation of 300 MB.
    for (const name of ['aws-cdk-lib', 'constructs']) {
      await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name));
    }
    await writeFile(
      join(project, 'app.config.ts'),
      `import { defineApp, defineWorkflow } from 'outwait';
       const hello = defineWorkflow<{ name: string }>({ name: 'hello', run: async (ctx, { name }) => \`hello \${name}\` });
       export default defineApp({ workflows: [hello] });`,
    );
    const program = `import { App, Stack } from 'aws-cdk-lib';
       import { Outwait, type OutwaitProps } from 'outwait/cdk';
       const app = new App({ outdir: 'cdk.out' });
       const props: OutwaitProps = { app: './app.config.ts', functions: { turn: { memoryMb: 2048 } } };
       new Outwait(new Stack(app, 'Mine'), 'Outwait', props);
       app.synth();`;
    await writeFile(join(project, 'cdk-app.ts'), program);
    await writeFile(join(project, 'cdk-app.mjs'), program.replaceAll(/, type OutwaitProps|: OutwaitProps/g, ''));
    await succeedIn(project, process.execPath, 'cdk-app.mjs');
    const { files } = JSON.parse(await readFile(join(project, 'cdk.out/Mine.assets.json'), 'utf8')) as {
      readonly files: Readonly<
        Record<string, { readonly source: { readonly path: string; readonly packaging: string } }>
      >;
    };
    const bundles = Object.values(files).filter(({ source }) => source.packaging === 'zip');
    expect(bundles).toHaveLength(5);
    for (const { source } of bundles) {
      expect(await readFile(join(project, 'cdk.out', source.path, 'index.mjs'), 'utf8')).toContain('"hello"');
    }
    const compilerOptions = {
      target: 'ES2023',
      module: 'NodeNext',
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      types: [],
    };
    await writeFile(join(project, 'tsconfig.cdk.json'), JSON.stringify({ compilerOptions, files: ['cdk-app.ts'] }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    expect(await runIn(project, process.execPath, tsc, '-p', 'tsconfig.cdk.json')).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  }, 300_000);

  it('runs workflows in local mode, and ends at SIGTERM', async () => {
    await writeFile(
      join(project, 'outwait.config.ts'),
      `import { defineApp, defineWorkflow } from 'outwait';
       const hello = defineWorkflow<{ name: string }>({
         name: 'hello',
         run: async (ctx, { name }) => ({ greeting: await ctx.step('greet', () => \`hello \${name}\`) }),
       });
       export default defineApp({ workflows: [hello] });`,
    );
    // Spawns the command itself, since npx would receive the signal in its place.
    const command = join(project, 'node_modules/.bin/outwait');
    const dev = spawn(command, ['dev', '--port', '0'], { cwd: project, env: cleanEnv(), stdio: 'pipe' });
    const ended = new Promise<number | null>((resolve) => dev.once('close', resolve));
    try {
      let output = '';
      const url = await new Promise<string>((resolve, reject) => {
        dev.stderr.on('data', (data: Buffer) => (output += data.toString()));
        dev.stdout.on('data', (data: Buffer) => {
          output += data.toString();
          const ready = /^outwait dev ready at (http:\/\/127\.0\.0\.1:\d+) /m.exec(output)?.[1];
          if (ready !== undefined) resolve(ready);
        });
        void ended.then(() => {
          reject(new Error(`outwait dev ended: ${output}`));
        });
      });
      const start = ['start', 'hello', '--url', url, '--input', '{"name":"you"}', '--wait', '--json'];
      expect(JSON.parse(await succeedIn(project, command, ...start))).toMatchObject({
        status: 'completed',
        outcome: { status: 'completed', result: { greeting: 'hello you' } },
      });
    } finally {
      dev.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
  });
});
