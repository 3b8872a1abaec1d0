import { sep } from 'node:path';
import type { Plugin } from 'esbuild';
import { setApart } from './apart.js';

/** What our own modules use of a CommonJS package, which esbuild cannot shake. */
export interface PackageParts {
  readonly name: string;
  /** What they get for the package: code that requires files of it. */
  readonly entry: string;
  /** Files of the package that they never use. */
  readonly leftOut: RegExp;
  /** The code that stands for each of those. */
  readonly instead: string;
}

/**
 * Bundles parts of a package for the modules in `ownFolder`. They are a copy of their own: an app that imports the same
 * package gets the whole of it.
 */
export function packageParts(ownFolder: string, { name, entry, leftOut, instead }: PackageParts): Plugin {
  const namespace = `outwait-${name}`;
  return {
    name: `${name}-parts`,
    setup(builder) {
      setApart(builder, {
        name: namespace,
        copied: new RegExp(`[\\\\/]node_modules[\\\\/]${name}[\\\\/]`),
        instead: (path) => (leftOut.test(path) ? instead : undefined),
      });
      builder.onResolve({ filter: new RegExp(`^${name}$`) }, ({ importer, resolveDir }) =>
        importer.startsWith(ownFolder + sep) ? { path: 'parts', namespace, pluginData: resolveDir } : undefined,
      );
      builder.onLoad({ filter: /./, namespace }, ({ pluginData }) => ({
        contents: entry,
        resolveDir: pluginData as string,
        pluginData: namespace,
      }));
    },
  };
}
