import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Returns the environment without the variables of npm and vitest, which are not meant for a package manager and a
 * program inside this test.
 */
export const cleanEnv = (): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_ENV$|NODE_OPTIONS$|OUTWAIT_)/.test(name)),
  );

/** Runs a command to its end. */
export async function runIn(cwd: string, command: string, ...args: string[]): Promise<Ended> {
  const child = spawn(command, args, { cwd, env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => (output.stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output.stderr += data.toString()));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  );
  return { code, ...output };
}

/** Runs a command and returns its output. @throws Error with the output, unless its exit code is 0 */
export async function succeedIn(cwd: string, command: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runIn(cwd, command, ...args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code ?? 'a signal'}:\n${stdout}${stderr}`);
  return stdout;
}

export interface Packed {
  /** The tarball. */
  readonly file: string;
  /** Paths of its files, relative to the package. */
  readonly paths: readonly string[];
}

/**
 * Packs a copy of this repository, with `prepack` as a release would. It is a copy because a `dist` in the repository
 * would be what its own `bin` runs from then on.
 */
export async function pack(folder: string): Promise<Packed> {
  const copy = join(folder, 'repository');
  await mkdir(copy);
  for (const name of ['lib', 'functions', 'cdk', 'bin', 'docs'])
    await cp(join(root, name), join(copy, name), { recursive: true });
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.build.json'])
    await cp(join(root, name), join(copy, name));
  for (const name of ['README.md', 'ARCHITECTURE.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'])
    await cp(join(root, name), join(copy, name));
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  const stdout = await succeedIn(copy, 'npm', 'pack', '--json', '--pack-destination', folder);
  // The output of prepack comes first.
  const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[$/m))) as {
    readonly filename: string;
    readonly files: readonly { readonly path: string }[];
  }[];
  if (packed === undefined) throw new Error('npm pack has packed nothing');
  return { file: join(folder, packed.filename), paths: packed.files.map(({ path }) => path) };
}

export async function temporaryFolder(): Promise<{ readonly folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-package-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
