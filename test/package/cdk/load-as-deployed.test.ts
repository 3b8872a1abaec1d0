import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type BundleOutcome,
  type BundleRequest,
  type FunctionVariables,
  outcomeFile,
} from '../../../cdk/bundle-request.js';

const program = fileURLToPath(new URL('../../../cdk/bundle-functions.ts', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outwait-cdk-load-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Loads the app with these variables; the shell has others. */
function load(
  config: string,
  environment: Record<string, string> = {},
  unknown: readonly string[] = [],
  more: Partial<FunctionVariables> = {},
) {
  const outDir = mkdtempSync(join(folder, 'out-'));
  const configFile = join(folder, 'outwait.config.ts');
  writeFileSync(configFile, `import { defineApp, defineWorkflow, mcpServer } from 'outwait';\n${config}`);
  const request: BundleRequest = { configFile, outDir, names: [], load: { environment, unknown, ...more } };
  spawnSync(process.execPath, ['--import', 'tsx', program], {
    input: JSON.stringify(request),
    env: { ...process.env, REPORTS_URL: 'https://of-the-shell.example.com/mcp' },
  });
  return JSON.parse(readFileSync(join(outDir, outcomeFile), 'utf8')) as BundleOutcome;
}

// The app prints, and it leaves a timer that would keep its process alive.
const withUrl = `
  console.log('loading'); console.error('loading');
  setInterval(() => undefined, 1_000);
  export default defineApp({ workflows: [], servers: { reports: mcpServer({ url: process.env['REPORTS_URL'] }) } });`;
const refused = (message: RegExp) => ({ kind: 'refused', message: expect.stringMatching(message) as unknown });
const unsure = (message: RegExp) => ({ kind: 'unsure', message: expect.stringMatching(message) as unknown });

test('an app with a schedule whose pattern is wrong is refused, and the schedule is named', () => {
  const config = `
    const flow = defineWorkflow({ name: 'flow', run: async () => 1 });
    export default defineApp({ workflows: [flow], schedules: [{ name: 'nightly', workflow: flow, cron: '61 2 * * *' }] });`;
  expect(load(config)).toEqual(refused(/outwait\.config\.ts is not valid: schedule "nightly": .*minute: 61$/));
});

test('an app that asks for a variable which the functions will not have is refused, and the variable is named', () => {
  // Another variable whose value is unknown does not excuse the missing one.
  expect(load(withUrl, { OTHER: '1', OUTWAIT_TABLE: '${Token[TOKEN.1]}' }, ['OUTWAIT_TABLE'])).toEqual(
    refused(
      /reports\.url must be an http\(s\) URL \(of the variables it reads, "environment" does not set (.*, )?REPORTS_URL\)$/,
    ),
  );
});

test('an app is loaded with the variables that the functions will have', () => {
  expect(load(withUrl, { REPORTS_URL: 'https://reports.example.com/mcp' })).toEqual({ kind: 'done' });
});

test.each([
  [
    'ends the process',
    'process.exit(0);',
    /outwait\.config\.ts cannot be loaded: it ends the process that loads it, with exit code 0$/,
  ],
  [
    'throws where nothing catches it',
    "setImmediate(() => { throw new Error('out of reach'); }); await new Promise(() => {});",
    /outwait\.config\.ts cannot be loaded: uncaught error: out of reach$/,
  ],
  [
    'leaves a rejected promise',
    "void Promise.reject(new Error('left')); await new Promise(() => {});",
    /outwait\.config\.ts cannot be loaded: uncaught error: left$/,
  ],
])('an app that %s when it is loaded is refused, in a few words', (_, code, message) => {
  expect(load(`${code}\nexport default defineApp({ workflows: [] });`)).toEqual(refused(message));
});

test('an app that reads a variable whose value is not known yet is not refused', () => {
  expect(load(withUrl, { REPORTS_URL: '${Token[TOKEN.1]}' }, ['REPORTS_URL'])).toEqual(
    unsure(/an http\(s\) URL \(not refused: it reads REPORTS_URL, known only after deployment\)$/),
  );
  const onLambda = `
    if (!('AWS_LAMBDA_FUNCTION_NAME' in process.env)) throw new Error('this is a laptop');
    export default defineApp({ workflows: [] });`;
  expect(load(onLambda)).toEqual(
    unsure(/cannot be loaded: this is a laptop \(not refused: it reads AWS_LAMBDA_FUNCTION_NAME, /),
  );
});

test('an app whose server needs a secret that the functions will not have is not refused, and the secret is named', () => {
  const config = `
    import { secret } from 'outwait';
    const reports = mcpServer({ url: 'https://reports.example.com/mcp', auth: { bearer: secret('REPORTS_TOKEN') } });
    export default defineApp({ workflows: [], servers: { reports } });`;
  expect(load(config)).toEqual(
    unsure(/outwait\.config\.ts names secrets that the functions cannot read, .*: "environment" lacks REPORTS_TOKEN$/),
  );
});

const serving = `
  const flow = defineWorkflow({ name: 'flow', run: async () => 1 });
  export default defineApp({
    workflows: [flow],
    serve: { agent: { name: 'Desk', description: 'Does things' }, onMessage: 'flow' },
  });`;

test('an app that serves workflows is refused unless it is said who may call them, or that nobody may', () => {
  expect(load(serving)).toEqual(
    refused(/serves workflows, but it is not said who may call them: set serve\.access to/),
  );
  expect(load(serving, {}, [], { serves: true })).toEqual({ kind: 'done' });
  expect(load(serving, {}, [], { serves: false })).toEqual({ kind: 'done' });
});

test('an app that serves nothing is refused where callers are let in', () => {
  const config = 'export default defineApp({ workflows: [] });';
  expect(load(config, {}, [], { serves: true })).toEqual(refused(/serves no workflows, but serve is set$/));
  expect(load(config, {}, [], { serves: false })).toEqual({ kind: 'done' });
});
