import { sep } from 'node:path';
import type { Plugin } from 'esbuild';
import { copyModules } from './module-copies.js';
import type { PackageParts, Replacement, SeparateCopy, Trim } from './trims.js';

/** Returns a trim as an esbuild plugin. `ownFolder`: folder of the modules that count as our own. */
export function trimPlugin(trim: Trim, ownFolder: string): Plugin {
  switch (trim.kind) {
    case 'parts':
      return packageParts(trim, ownFolder);
    case 'copy':
      return separateCopy(trim);
    case 'replacement':
      return replacement(trim);
  }
}

function packageParts({ name, packageName, entry, leftOut }: PackageParts, ownFolder: string): Plugin {
  const copied = [`[\\\\/]node_modules[\\\\/]${packageName}[\\\\/]`, ...leftOut.map(({ files }) => files.source)];
  return {
    name,
    setup(builder) {
      builder.onResolve({ filter: new RegExp(`^${packageName}$`) }, ({ importer, resolveDir }) =>
        importer.startsWith(ownFolder + sep) ? { path: 'entry', namespace: name, pluginData: resolveDir } : undefined,
      );
      builder.onLoad({ filter: /^entry$/, namespace: name }, ({ pluginData }) => ({
        contents: entry,
        resolveDir: pluginData as string,
      }));
      copyModules(builder, {
        namespace: name,
        copied: new RegExp(copied.join('|')),
        instead: (path) => leftOut.find(({ files }) => files.test(path))?.instead,
      });
    },
  };
}

function separateCopy({ name, importers, imports, copied }: SeparateCopy): Plugin {
  return {
    name,
    setup(builder) {
      const findCopy = copyModules(builder, { namespace: name, copied });
      builder.onResolve({ filter: imports }, (request) =>
        request.kind === 'dynamic-import' && importers.test(request.importer) ? findCopy(request) : undefined,
      );
    },
  };
}

/** Returns the place of a folder below node_modules: paths are part of the names of chunks. */
function placeIn(folder: string): string {
  return folder.replace(/^.*[\\/]node_modules[\\/]/, '').replaceAll('\\', '/');
}

function replacement({ name, importers, imports, path, instead }: Replacement): Plugin {
  return {
    name,
    setup(builder) {
      builder.onResolve({ filter: imports }, ({ importer, resolveDir }) =>
        importers.test(importer)
          ? { path: `${path} ${placeIn(resolveDir)}`, namespace: name, pluginData: resolveDir }
          : undefined,
      );
      builder.onLoad({ filter: /./, namespace: name }, ({ pluginData }) => ({
        contents: instead,
        resolveDir: pluginData as string,
      }));
    },
  };
}
