import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { CliError, exitCodes } from '../cli-error.js';
import { projectFiles } from '../init-files.js';

export function addInitCommand(program: Command, version: string): void {
  program
    .command('init')
    .description('write a small project: a workflow with a remote call, and its test')
    .argument('<folder>', 'new or empty folder')
    .action((folder: string) => init(folder, version));
}

async function init(folder: string, version: string): Promise<void> {
  const root = resolve(folder);
  const files = projectFiles(packageNameOf(root), version);
  try {
    await mkdir(root, { recursive: true });
    if ((await readdir(root)).length > 0)
      throw new CliError(`${folder} is not empty; nothing was written`, exitCodes.failed);
    for (const [path, content] of Object.entries(files)) {
      const file = join(root, path);
      await mkdir(dirname(file), { recursive: true });
      // Never overwrites a file that was created meanwhile.
      await writeFile(file, content, { flag: 'wx' });
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new CliError(`${folder} cannot be written (${code})`, exitCodes.failed);
  }
  console.log(
    [
      ...Object.keys(files).map((path) => `wrote ${join(folder, path)}`),
      `next: cd ${folder} && npm install && npm test`,
      `(until outwait is on npm: npm pack in its clone, then npm install <clone>/outwait-${version}.tgz here)`,
    ].join('\n'),
  );
}

/** Returns a valid package name from the name of the folder. */
function packageNameOf(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 100);
  return name === '' ? 'workflows' : name;
}
