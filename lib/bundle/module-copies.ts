import { readFile } from 'node:fs/promises';
import { dirname, extname, relative, resolve, sep } from 'node:path';
import type { OnResolveArgs, OnResolveResult, PluginBuild } from 'esbuild';

export interface CopyOptions {
  /** Namespace of esbuild: tells the copies from all other modules. */
  readonly namespace: string;
  /** Files that are copied when a copy imports them; others are shared with the rest of the bundle. */
  readonly copied: RegExp;
  /** Code that stands for the copy of a file; undefined for the file itself. Default: always the file. */
  readonly instead?: (path: string) => string | undefined;
}

/**
 * Lets a bundle hold some modules twice: once for the rest of it, and once for the modules in `namespace`, which are those
 * that the resolution that this gives finds, and those that they import.
 */
export function copyModules(
  builder: PluginBuild,
  { namespace, copied, instead = () => undefined }: CopyOptions,
): (request: OnResolveArgs) => Promise<OnResolveResult> {
  const find = async ({ path, kind, resolveDir }: OnResolveArgs): Promise<OnResolveResult> => {
    const found = await builder.resolve(path, { kind, resolveDir });
    if (found.external || !copied.test(found.path)) return found;
    // Paths are part of the names of chunks, and these must not differ from one machine to the next.
    return { ...found, namespace, path: relative(process.cwd(), found.path).replaceAll(sep, '/') };
  };
  builder.onResolve({ filter: /./, namespace }, find);
  builder.onLoad({ filter: /\.(js|json)$/, namespace }, async ({ path }) => {
    const file = resolve(path);
    return {
      contents: instead(file) ?? (await readFile(file, 'utf8')),
      loader: extname(file) === '.json' ? 'json' : 'js',
      resolveDir: dirname(file),
    };
  });
  return find;
}
