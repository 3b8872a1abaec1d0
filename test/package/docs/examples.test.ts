import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);

/** What a user of the package begins with, by the file that says how. */
const mainEntries = {
  'lib/workflow/define-workflow.ts': ['defineWorkflow'],
  'lib/workflow/app.ts': ['mcpServer', 'a2aAgent', 'defineApp'],
  'lib/workflow/hook-auth.ts': ['githubWebhook'],
  'lib/workflow/jwt-auth.ts': ['jwtWebhook'],
  'lib/workflow/context.ts': ['callRemoteTask', 'step'],
  'lib/testing/test-app.ts': ['createTestApp'],
  'lib/testing/signed-delivery.ts': ['signedDelivery'],
  'lib/testing/scripted-server.ts': ['scriptedServer'],
  'lib/testing/replay.ts': ['replayHistory'],
  'cdk/outwait.ts': ['Outwait'],
};

/** The example of each doc comment of a file that has one, and the name of what the comment is about. */
function examplesIn(file: string): readonly { readonly file: string; readonly name: string; readonly code: string }[] {
  const text = readFileSync(new URL(file, root), 'utf8');
  return [...text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*?)\*\/\s*(?:export (?:class|function) )?(\w+)/g)].flatMap(
    ([, comment = '', name = '']) => {
      const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
      const blocks = [...lines.join('\n').matchAll(/@example\n```ts\n([\s\S]*?)```/g)];
      return blocks.map(([, code = '']) => ({ file, name, code }));
    },
  );
}

const examples = Object.keys(mainEntries).flatMap(examplesIn);

test('each main entry of the package has one example', () => {
  const names = Object.keys(mainEntries).map((file) => [file, examplesIn(file).map(({ name }) => name)]);
  expect(Object.fromEntries(names)).toEqual(mainEntries);
});

test('the examples compile against the package', { timeout: 120_000 }, () => {
  const configPath = fileURLToPath(new URL('cdk/tsconfig.json', root));
  const config = ts.getParsedCommandLineOfConfigFile(
    configPath,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, ' '));
      },
    },
  );
  if (config === undefined) throw new Error('the configuration of the compiler is not there');
  // As if each stood in a file of this folder.
  const files = new Map(
    examples.map(({ name, code }) => [fileURLToPath(new URL(`example-${name}.ts`, import.meta.url)), code]),
  );
  const options = { ...config.options, noEmit: true };
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => files.has(path) || disk.fileExists(path),
    readFile: (path) => files.get(path) ?? disk.readFile(path),
    getSourceFile: (path, target) => {
      const code = files.get(path);
      return code === undefined ? disk.getSourceFile(path, target) : ts.createSourceFile(path, code, target);
    },
  };
  const program = ts.createProgram([...files.keys()], options, host);
  const problems = [...files.keys()].flatMap((path) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(path)).map(({ file, messageText }) => ({
      file: file?.fileName.split('/').at(-1),
      problem: ts.flattenDiagnosticMessageText(messageText, ' '),
    })),
  );
  expect(problems).toEqual([]);
});
