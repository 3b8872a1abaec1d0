import { sep } from 'node:path';
import type { Plugin } from 'esbuild';
import { setApart } from './apart.js';

/** What our own modules use of a CommonJS package, which esbuild cannot shake. */
export interface PackageParts {
  readonly name: string;
  /** What they get for the package: code that requires files of it. */
  readonly entry: string;
  /** Files of the package, and of what it depends on, that they never use, and the code that stands for each. */
  readonly leftOut: readonly { readonly files: RegExp; readonly instead: string }[];
}

/**
 * Bundles parts of a package for the modules in `ownFolder`. They are a copy of their own: an app that imports the same
 * package gets the whole of it.
 */
export function packageParts(ownFolder: string, { name, entry, leftOut }: PackageParts): Plugin {
  const namespace = `${name}-parts`;
  const copied = [`[\\\\/]node_modules[\\\\/]${name}[\\\\/]`, ...leftOut.map(({ files }) => files.source)];
  return {
    name: namespace,
    setup(builder) {
      builder.onResolve({ filter: new RegExp(`^${name}$`) }, ({ importer, resolveDir }) =>
        importer.startsWith(ownFolder + sep) ? { path: 'entry', namespace, pluginData: resolveDir } : undefined,
      );
      builder.onLoad({ filter: /^entry$/, namespace }, ({ pluginData }) => ({
        contents: entry,
        resolveDir: pluginData as string,
      }));
      setApart(builder, {
        namespace,
        copied: new RegExp(copied.join('|')),
        instead: (path) => leftOut.find(({ files }) => files.test(path))?.instead,
      });
    },
  };
}
