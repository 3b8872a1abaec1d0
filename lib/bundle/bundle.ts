import { access, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildFailure, type Location, type Metafile, type Plugin } from 'esbuild';
import { EngineError } from '../base/errors.js';
import { bundling } from '../topology/topology.js';
import { trimPlugin } from './trim-plugins.js';
import { type Trim, trims } from './trims.js';

export interface BundleOptions {
  /** Path of the user's configuration, whose default export is an app. */
  readonly configFile: string;
  readonly outDir: string;
  /** Files that import `outwait:app`, by the name of the resulting bundle. Default: `app`, which exports the app. */
  readonly entries?: Readonly<Record<string, string>>;
  /** Packages that are not bundled but found when the bundle runs, as patterns. Default: none. */
  readonly external?: readonly string[];
  /** Receives esbuild's metafile, so that bundles can be measured. */
  readonly onMetafile?: (metafile: Metafile) => void;
  /** Default: all trims. */
  readonly trims?: readonly Trim[];
}

/**
 * Bundles code that imports `outwait:app`, with the user's configuration in its place and with this package, not
 * another copy of it, as `outwait`. Returns the files by the names of the entries.
 * @throws EngineError `CONFIG_INVALID`, which names the file and, if known, the place of the mistake
 */
export async function bundle({
  configFile,
  outDir,
  entries = { app: appEntry },
  external = [],
  onMetafile,
  trims: applied = trims,
}: BundleOptions): Promise<Record<string, string>> {
  const config = resolve(configFile);
  await access(config).catch(() => {
    throw new EngineError('CONFIG_INVALID', `there is no configuration at ${configFile}`);
  });
  const { banner, mainFields, ...settings } = bundling;
  try {
    const { metafile } = await build({
      ...settings,
      metafile: true,
      mainFields: [...mainFields],
      banner: { js: banner },
      bundle: true,
      external: [...external],
      entryPoints: { ...entries },
      outdir: outDir,
      outExtension: { '.js': '.mjs' },
      logLevel: 'silent',
      plugins: [resolveNames(config), ...applied.map((trim) => trimPlugin(trim, ownFolder))],
    });
    await nameSources(Object.keys(metafile.outputs), config);
    onMetafile?.(metafile);
  } catch (error) {
    throw new EngineError('CONFIG_INVALID', `${configFile} cannot be bundled: ${textOf(error)}`);
  }
  return Object.fromEntries(Object.keys(entries).map((name) => [name, join(resolve(outDir), `${name}.mjs`)]));
}

/**
 * Names the sources in maps from the folder of the configuration: a stack then says `steps/report.ts:12:7`, whatever machine
 * made the bundle.
 */
async function nameSources(outputs: readonly string[], config: string): Promise<void> {
  for (const output of outputs.filter((path) => path.endsWith('.map'))) {
    const map = JSON.parse(await readFile(output, 'utf8')) as { readonly sources: readonly string[] };
    const sources = map.sources.map((source) =>
      // What a plugin provides has a name of its own.
      /^[\w-]+:/.test(source) ? source : nameOf(resolve(dirname(output), source), dirname(config)),
    );
    await writeFile(output, JSON.stringify({ ...map, sources }));
  }
}

function nameOf(source: string, folder: string): string {
  const inPackage = /.*\/node_modules\/(.*)$/.exec(source)?.[1];
  if (inPackage !== undefined) return `node_modules/${inPackage}`;
  if (source.startsWith(`${ownFolder}/`)) return `node_modules/outwait/lib/${source.slice(ownFolder.length + 1)}`;
  return relative(folder, source).split(sep).join('/');
}

const appEntry = 'outwait:app-entry';

function resolveNames(configFile: string): Plugin {
  return {
    name: 'outwait',
    setup(builder) {
      builder.onResolve({ filter: /^outwait:app-entry$/ }, () => ({ path: appEntry, namespace: 'outwait' }));
      builder.onLoad({ filter: /./, namespace: 'outwait' }, () => ({
        contents: "export { default } from 'outwait:app';",
        resolveDir: dirname(configFile),
      }));
      builder.onResolve({ filter: /^outwait:app$/ }, () => ({ path: configFile }));
      builder.onResolve({ filter: /^outwait(\/testing)?$/ }, ({ path }) => ({
        path: ownFile(path === 'outwait' ? 'index' : 'testing'),
      }));
    },
  };
}

const here = fileURLToPath(import.meta.url);
const ownFolder = resolve(dirname(here), '..');

/** Returns the file of a public module of this package: TypeScript in a clone, JavaScript when built. */
function ownFile(name: 'index' | 'testing'): string {
  return join(ownFolder, `${name}${here.endsWith('.ts') ? '.ts' : '.js'}`);
}

/** Returns all mistakes with their places, in one line. */
function textOf(error: unknown): string {
  const errors = (error as Partial<BuildFailure>).errors;
  if (errors === undefined) return error instanceof Error ? error.message : 'unknown error';
  return errors.map(({ location, text }) => (location === null ? text : `${placeOf(location)}: ${text}`)).join('; ');
}

/** Returns the place of a mistake with columns from 1, as editors count; esbuild counts them from 0. */
function placeOf({ file, line, column }: Location): string {
  return `${file}:${line}:${column + 1}`;
}
