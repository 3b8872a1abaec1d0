import { readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** Returns true for source files. Declarations (`.d.ts`) contain no code. */
const isSource = (name: string): boolean =>
  ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'].includes(extname(name)) && !/\.d\.[mc]?ts$/.test(name);

/** Returns true for folders of dependencies and generated files. */
const isLeftOut = (folder: string): boolean =>
  folder.startsWith('.') || ['node_modules', 'dist', 'build', 'coverage', 'cdk.out'].includes(folder);

/**
 * Returns the files of the given paths, sorted: a file with any name, or all source files of a folder except
 * dependencies and build results.
 * @throws the error of the file system, with its `code` and `path`
 */
export async function sourceFiles(paths: readonly string[]): Promise<readonly string[]> {
  const files = await Promise.all(
    paths.map(async (path) => ((await stat(path)).isDirectory() ? filesIn(path) : [path])),
  );
  return [...new Set(files.flat())].sort();
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return isLeftOut(entry.name) ? [] : filesIn(path);
      return entry.isFile() && isSource(entry.name) ? [path] : [];
    }),
  );
  return files.flat();
}
