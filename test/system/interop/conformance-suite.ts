import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';

const run = promisify(execFile);

// The suite imports `globSync`, which Node 20 lacks, for a command that is not used here.
const fsWithGlob = `export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = undefined;`;
const hook = `export const resolve = (specifier, context, next) =>
  specifier === 'fs' ? { url: ${JSON.stringify(moduleOf(fsWithGlob))}, shortCircuit: true } : next(specifier, context);`;
const registration = `import { register } from 'node:module'; register(${JSON.stringify(moduleOf(hook))});`;
const nodeOptions = ['--import', moduleOf(registration)];

function moduleOf(source: string): string {
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

const require = createRequire(import.meta.url);
const suite = require.resolve('@modelcontextprotocol/conformance/dist/index.js');

/** Runs a command of the MCP conformance suite, and returns what it prints. */
export async function runConformance(...args: readonly string[]): Promise<string> {
  const options = { timeout: 60_000, env: { ...process.env, NO_COLOR: '1' } };
  // A failed scenario exits with 1 and prints why.
  const { stdout, stderr } = await run(process.execPath, [...nodeOptions, suite, ...args], options).catch(
    (error: unknown) => error as { readonly stdout: string; readonly stderr: string },
  );
  return `${stdout}${stderr}`;
}
