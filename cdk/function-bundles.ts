import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type FunctionName, functions } from '../lib/aws/topology.js';
import { EngineError } from '../lib/base/errors.js';

const here = fileURLToPath(import.meta.url);
/** The entries of the functions lie beside this folder, in a clone and in the package. */
const entriesFolder = resolve(dirname(here), '../functions');
const allNames = Object.keys(functions) as FunctionName[];

/**
 * The code of the functions of one app, as `lib/aws/bundle.ts` makes it: side by side, when the first of them is asked
 * for.
 */
export class FunctionBundles {
  readonly #configFile: string;
  #folder: string | undefined;
  readonly #left: Set<FunctionName>;

  /** @throws EngineError `CONFIG_INVALID` when there is no such file */
  constructor(configFile: string, names: readonly FunctionName[] = allNames) {
    this.#configFile = resolve(configFile);
    this.#left = new Set(names);
    if (!existsSync(this.#configFile))
      throw new EngineError('CONFIG_INVALID', `there is no configuration at ${configFile}`);
  }

  /** @throws EngineError `CONFIG_INVALID` with what is wrong in the user's code, at synthesis */
  codeOf(name: FunctionName): Code {
    return Code.fromAsset(entriesFolder, {
      // What was made decides whether a function is deployed anew.
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        // Never run: what is bundled here needs no container. CDK keeps bundles apart by this command.
        image: DockerImage.fromRegistry('none'),
        command: [name, this.#configFile],
        local: {
          tryBundle: (outputFolder) => {
            this.#moveTo(name, outputFolder);
            return true;
          },
        },
      },
    });
  }

  #moveTo(name: FunctionName, outputFolder: string): void {
    const folder = (this.#folder ??= this.#bundle());
    cpSync(join(folder, name), outputFolder, { recursive: true });
    this.#left.delete(name);
    if (this.#left.size === 0) rmSync(folder, { recursive: true });
  }

  #bundle(): string {
    const folder = mkdtempSync(join(tmpdir(), 'outwait-bundles-'));
    const program = join(dirname(here), `bundle-functions${extname(here)}`);
    const { status, stderr, error } = spawnSync(
      process.execPath,
      [...loaderFor(program), program, this.#configFile, folder, ...this.#left],
      { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] },
    );
    if (status === 0) return folder;
    rmSync(folder, { recursive: true });
    throw new EngineError(
      'CONFIG_INVALID',
      stderr.trim() || `the functions cannot be bundled (${error?.name ?? status})`,
    );
  }
}

/** In a clone the program is TypeScript, which Node 20 does not run by itself. */
function loaderFor(program: string): readonly string[] {
  if (extname(program) !== '.ts') return [];
  return ['--import', pathToFileURL(createRequire(here).resolve('tsx')).href];
}
