import { defined } from '../lib/base/defined.js';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type FunctionName, functions } from '../lib/topology/topology.js';
import { EngineError } from '../lib/base/errors.js';
import { type BundleOutcome, type BundleRequest, type FunctionVariables, outcomeFile } from './bundle-request.js';

/** Time after which loading and bundling, which takes seconds, is killed: code may never give up the thread. */
const bundlingMaxMs = 120_000;

const here = fileURLToPath(import.meta.url);
/** Folder of the functions' entry files, beside this one in a clone and in the package. */
const entriesFolder = resolve(dirname(here), '../functions');
const allNames = Object.keys(functions) as FunctionName[];

export interface FunctionBundlesOptions {
  /** Default: all functions. */
  readonly names?: readonly FunctionName[];
  /**
   * Environment with which the app is loaded, so that one that will not start is refused. Default: it is not loaded.
   */
  readonly load?: FunctionVariables;
  /** Receives the reason if it is unknown whether the app will start. */
  readonly onUnsure?: (message: string) => void;
  /** Time limit for everything; default two minutes. */
  readonly maxMs?: number;
}

/** Code of the functions of one app, as `lib/bundle/bundle.ts` makes it: all are bundled when the first is needed. */
export class FunctionBundles {
  readonly #configFile: string;
  readonly #options: FunctionBundlesOptions;
  #folder: string | undefined;
  #failure: EngineError | undefined;
  readonly #left: Set<FunctionName>;

  /**
   * Creates the bundles.
   * @throws EngineError `CONFIG_INVALID` if there is no such file
   */
  constructor(configFile: string, options: FunctionBundlesOptions = {}) {
    this.#configFile = resolve(configFile);
    this.#options = options;
    this.#left = new Set(options.names ?? allNames);
    if (!existsSync(this.#configFile))
      throw new EngineError('CONFIG_INVALID', `there is no configuration at ${configFile}`);
  }

  /**
   * `CONFIG_INVALID` with the mistake in the user's code, once it is known. CDK throws it wrapped in an error of its
   * own.
   */
  get failure(): EngineError | undefined {
    return this.#failure;
  }

  /** Returns the code of a function, which is bundled when its stack is synthesised. */
  codeOf(name: FunctionName): Code {
    return Code.fromAsset(entriesFolder, {
      // Redeploys a function only if its bundle changes.
      assetHashType: AssetHashType.OUTPUT,
      bundling: {
        // Never run: bundling here needs no container. CDK tells bundles apart by this command.
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
    const outDir = mkdtempSync(join(tmpdir(), 'outwait-bundles-'));
    const { load, maxMs = bundlingMaxMs } = this.#options;
    const request = { configFile: this.#configFile, outDir, names: [...this.#left] };
    const outcome = runProgram({ ...request, ...defined({ load }) }, maxMs);
    if (outcome.kind === 'unsure') this.#options.onUnsure?.(outcome.message);
    if (outcome.kind !== 'refused') return outDir;
    rmSync(outDir, { recursive: true });
    this.#failure = new EngineError('CONFIG_INVALID', outcome.message);
    throw this.#failure;
  }
}

function runProgram(request: BundleRequest, maxMs: number): BundleOutcome {
  const program = join(dirname(here), `bundle-functions${extname(here)}`);
  const { status, signal, stderr, error } = spawnSync(process.execPath, [...loaderFor(program), program], {
    input: JSON.stringify(request),
    encoding: 'utf8',
    stdio: ['pipe', 'ignore', 'pipe'],
    // Takes any amount of output from an app, and a signal that ends even a loop without an await.
    maxBuffer: Infinity,
    timeout: maxMs,
    killSignal: 'SIGKILL',
  });
  const file = join(request.outDir, outcomeFile);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as BundleOutcome;
  const reason = isTimeout(error) ? `timed out after ${maxMs / 1_000} s` : stderr.trim().slice(0, reasonMaxChars);
  return {
    kind: 'refused',
    message: `${request.configFile} cannot be loaded and bundled: ${reason || (signal ?? status)}`,
  };
}

function isTimeout(error: Error | undefined): boolean {
  return error !== undefined && 'code' in error && error.code === 'ETIMEDOUT';
}

/** Maximum length of Node's own message that is shown. */
const reasonMaxChars = 2_000;

/** Loads tsx in a clone, where the program is TypeScript, which Node 20 does not run by itself. */
function loaderFor(program: string): readonly string[] {
  if (extname(program) !== '.ts') return [];
  return ['--import', pathToFileURL(createRequire(here).resolve('tsx')).href];
}
