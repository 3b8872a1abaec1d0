import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App, Stack } from 'aws-cdk-lib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FunctionBundles } from '../../../cdk/function-bundles.js';
import { bundle } from '../../../lib/bundle/bundle.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outwait-cdk-bundles-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

test('what is uploaded is what a bundle of the function is anywhere, with source maps (F31)', async () => {
  const configFile = join(root, 'bench/small-app/outwait.config.ts');
  const stack = new Stack(new App({ outdir: join(folder, 'out') }), 'Test');
  const code = new FunctionBundles(configFile, { names: ['schedule'] }).codeOf('schedule').bind(stack);
  expect(code.s3Location?.objectKey).toMatch(/^[0-9a-f]{64}\.zip$/);

  const outDir = join(folder, 'bundle');
  await bundle({ configFile, outDir, entries: { index: join(root, 'functions/schedule.ts') } });
  const { assetPath } = stack.node.findChild('Code') as unknown as { readonly assetPath: string };
  const uploaded = filesIn(join(folder, 'out', assetPath));
  expect(Object.keys(uploaded)).toEqual(expect.arrayContaining(['index.mjs', 'index.mjs.map']));
  expect(uploaded).toEqual(filesIn(outDir));
});

test('a mistake in the code of a user ends the synthesis with its place', () => {
  const configFile = join(folder, 'outwait.config.ts');
  writeFileSync(configFile, "import { nothing } from './not-there.js';\nexport default nothing;\n");
  const stack = new Stack(new App({ outdir: join(folder, 'broken') }), 'Test');
  const bundles = new FunctionBundles(configFile, { names: ['schedule'] });
  expect(() => bundles.codeOf('schedule').bind(stack)).toThrow();
  expect(bundles.failure).toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/outwait\.config\.ts:1:\d+/) as unknown,
  });
});

test.each([
  ['may print as much as it likes', "process.stderr.write('x'.repeat(2_000_000));", 60_000, undefined],
  [
    'is given up when it never ends',
    'for (;;) {}',
    2_500,
    expect.stringMatching(/endless\.config\.ts cannot be loaded and bundled: timed out after 2\.5 s$/) as unknown,
  ],
])('an app %s', (_, code, maxMs, message) => {
  const configFile = join(folder, 'endless.config.ts');
  writeFileSync(
    configFile,
    `import { defineApp } from 'outwait';\n${code}\nexport default defineApp({ workflows: [] });\n`,
  );
  const stack = new Stack(new App({ outdir: mkdtempSync(join(folder, 'out-')) }), 'Test');
  const load = { environment: {}, unknown: [] };
  const bundles = new FunctionBundles(configFile, { names: ['schedule'], load, maxMs });
  try {
    bundles.codeOf('schedule').bind(stack);
  } catch {
    // The error of CDK; its cause is kept.
  }
  expect(bundles.failure?.message).toEqual(message);
});

function filesIn(from: string): Readonly<Record<string, string>> {
  return Object.fromEntries(readdirSync(from).map((name) => [name, readFileSync(join(from, name), 'utf8')]));
}
