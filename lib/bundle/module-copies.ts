import { readFile } from 'node:fs/promises';
import { dirname, extname, relative, resolve, sep } from 'node:path';
import type { OnResolveArgs, OnResolveResult, PluginBuild } from 'esbuild';

export interface CopyOptions {
  /** Namespace of esbuild that marks the copies. */
  readonly namespace: string;
  /** Files that are copied when a copy imports them; others are shared with the rest of the bundle. */
  readonly copied: RegExp;
  /** Returns code to use in place of a copied file, or undefined for the file itself. Default: always the file. */
  readonly instead?: (path: string) => string | undefined;
}

/**
 * Lets a bundle hold some modules twice: once for the rest of it, and once in `namespace`. The returned function
 * resolves an import to such a copy; the modules that a copy imports are copied too.
 */
export function copyModules(
  builder: PluginBuild,
  { namespace, copied, instead = () => undefined }: CopyOptions,
): (request: OnResolveArgs) => Promise<OnResolveResult> {
  const find = async ({ path, kind, resolveDir }: OnResolveArgs): Promise<OnResolveResult> => {
    const found = await builder.resolve(path, { kind, resolveDir });
    if (found.external || !copied.test(found.path)) return found;
    // Makes paths relative: they are part of the names of chunks, which must not differ between machines.
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
