import { readFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { OnResolveArgs, OnResolveResult, PluginBuild } from 'esbuild';

export interface ApartOptions {
  /** Tells these copies from others. */
  readonly name: string;
  /** Files that are copied when a copy imports them. Others are shared with the rest of the bundle. */
  readonly copied: RegExp;
  /** Code that stands for the copy of a file; undefined for the file itself. Default: always the file. */
  readonly instead?: (path: string) => string | undefined;
}

/**
 * Lets a bundle hold some modules twice: once for the rest of it, and once for those that come to them by a resolution of
 * the function that this gives, or from such a copy.
 */
export function setApart(
  builder: PluginBuild,
  { name, copied, instead = () => undefined }: ApartOptions,
): (request: OnResolveArgs) => Promise<OnResolveResult> {
  const suffix = `?${name}`;
  const resolve = async ({ path, kind, resolveDir }: OnResolveArgs): Promise<OnResolveResult> => {
    const found = await builder.resolve(path, { kind, resolveDir, pluginData: { shared: name } });
    return found.external || !copied.test(found.path) ? found : { ...found, suffix, pluginData: name };
  };
  builder.onResolve({ filter: /./ }, (request) => (request.pluginData === name ? resolve(request) : undefined));
  builder.onLoad({ filter: copied }, async (file) => {
    if (file.suffix !== suffix) return undefined;
    return {
      contents: instead(file.path) ?? (await readFile(file.path, 'utf8')),
      loader: extname(file.path) === '.json' ? 'json' : 'js',
      resolveDir: dirname(file.path),
      pluginData: name,
    };
  });
  return resolve;
}
