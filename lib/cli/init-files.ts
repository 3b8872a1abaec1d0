// Files that `outwait init` writes.

/** Versions that work with Node 20. */
const developmentVersions = { '@types/node': '^20.19.0', typescript: '~6.0.3', vitest: '^4.1.12' } as const;

/** Returns the files of a new project by path. `name` is the package name, `version` the version of outwait. */
export function projectFiles(name: string, version: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(packageJson(name, version), undefined, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(tsconfig, undefined, 2)}\n`,
    '.gitignore': 'node_modules/\n.outwait/\n',
    'outwait.config.ts': config,
    'workflows/report.ts': workflow,
    'workflows/report.test.ts': test,
    'README.md': readme(name),
  };
}

function packageJson(name: string, version: string): object {
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: { dev: 'outwait dev', doctor: 'outwait doctor', test: 'vitest run', typecheck: 'tsc' },
    dependencies: { outwait: `^${version}` },
    devDependencies: developmentVersions,
  };
}

const tsconfig = {
  compilerOptions: {
    target: 'ES2023',
    lib: ['ES2023'],
    module: 'NodeNext',
    moduleResolution: 'NodeNext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['*.ts', 'workflows'],
};

const config = `import { defineApp, mcpServer } from 'outwait';
import { report } from './workflows/report.js';

export default defineApp({
  workflows: [report],
  servers: {
    // If the server needs a token, add auth: { bearer: secret('REPORTS_TOKEN') }, with secret from 'outwait'. The value
    // is read from the environment.
    reports: mcpServer({ url: 'http://127.0.0.1:4101/mcp' }),
  },
});
`;

const workflow = `import { defineWorkflow, textOf } from 'outwait';

/** Has a server export the bookings of a month, which may take hours, and returns the report. */
export const report = defineWorkflow<{ month: string }>({
  name: 'report',
  async run(ctx, { month }) {
    const outcome = await ctx.callRemoteTask({
      server: 'reports',
      tool: 'start_export',
      arguments: { month },
      timeout: { hours: 6 },
    });
    // The tool ran and reports a failure. That is a result, not an exception.
    if (outcome.isError) return { status: 'no report', reason: textOf(outcome) };
    return { status: 'ready', report: textOf(outcome) };
  },
});
`;

const test = `import { createTestApp, scriptedServer, type ScriptedTask } from 'outwait/testing';
import { expect, it } from 'vitest';
import config from '../outwait.config.js';
import { report } from './report.js';

/** Creates the app with a scripted server, on a clock that skips waiting times. */
function appWith(task: ScriptedTask) {
  return createTestApp(config, { servers: { reports: scriptedServer({ protocol: 'mcp', task: () => task }) } });
}

it('waits five hours for the report', async () => {
  const app = appWith({ after: { hours: 5 }, result: { content: [{ type: 'text', text: 'All is well.' }] } });
  const runId = await app.start(report, { month: '2026-10' });
  expect(await app.runToEnd(runId)).toEqual({
    status: 'completed',
    result: { status: 'ready', report: 'All is well.' },
  });
});

it('fails after six hours without a report', async () => {
  const app = appWith({ never: true });
  const runId = await app.start(report, { month: '2026-10' });
  expect(await app.runToEnd(runId)).toMatchObject({ status: 'failed', error: { code: 'REMOTE_TASK_TIMED_OUT' } });
});
`;

function readme(name: string): string {
  return `# ${name}

A workflow that calls a task on a remote server and waits for it, built on outwait.

\`\`\`
npm install
npm test
npm run dev
\`\`\`

\`npm test\` needs no server. For \`npm run dev\`, put the address of your MCP server into \`outwait.config.ts\` and its tool
into the workflow. The values in the files fit the example server in a clone of outwait, which is started there with

\`\`\`
npx tsx examples/servers/mcp-server.ts --port 4101
\`\`\`

Then, in another terminal:

\`\`\`
npx outwait start report --input '{"month":"2026-10"}'
npx outwait list
npx outwait why <runId>
\`\`\`

The workflow is in \`workflows/report.ts\`. It runs again from its start after each wait and finds its earlier results in
the history, so whatever is not a function of its input and of \`ctx\` belongs in \`ctx.step\`. \`npm run doctor\` checks
what is missing on this machine.
`;
}
