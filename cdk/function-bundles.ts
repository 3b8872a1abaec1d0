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

/** Loading an app and bundling its functions takes seconds; code that never gives up the thread is ended after this. */
const bundlingMaxMs = 120_000;

const here = fileURLToPath(import.meta.url);
/** The entries of the functions lie beside this folder, in a clone and in the package. */
const entriesFolder = resolve(dirname(here), '../functions');
const allNames = Object.keys(functions) as FunctionName[];

export interface FunctionBundlesOptions {
  /** Default: all. */
  readonly names?: readonly FunctionName[];
  /** The app is loaded with these, so that one that will not start is refused. Default: it is not loaded. */
  readonly load?: FunctionVariables;
  /** Receives the reason if it cannot be said whether the app will start. */
  readonly onUnsure?: (message: string) => void;
  /** Longest time for all of it; default two minutes. */
  readonly maxMs?: number;
}

/**
 * The code of the functions of one app, as `lib/bundle/bundle.ts` makes it: side by side, when the first of them is asked
 * for.
 */
export class FunctionBundles {
  readonly #configFile: string;
  readonly #options: FunctionBundlesOptions;
  #folder: string | undefined;
  #failure: EngineError | undefined;
  readonly #left: Set<FunctionName>;

  /** @throws EngineError `CONFIG_INVALID` when there is no such file */
  constructor(configFile: string, options: FunctionBundlesOptions = {}) {
    this.#configFile = resolve(configFile);
    this.#options = options;
    this.#left = new Set(options.names ?? allNames);
    if (!existsSync(this.#configFile))
      throw new EngineError('CONFIG_INVALID', `there is no configuration at ${configFile}`);
  }

  /** `CONFIG_INVALID` with what is wrong in the user's code, once that is known. CDK throws it inside of an error of its own. */
  get failure(): EngineError | undefined {
    return this.#failure;
  }

  /** Bundles when a function is made of it, where its stack is to be synthesised. */
  codeOf(name: FunctionName): Code {
    return Code.fromAsset(entriesFolder, {
      // The output decides whether a function is deployed anew.
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
    // An app may print more than the default; a loop without an await hears no gentler signal.
    maxBuffer: Infinity,
    timeout: maxMs,
    killSignal: 'SIGKILL',
  });
  const file = join(request.outDir, outcomeFile);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as BundleOutcome;
  const reason = isTimeout(error) ? `no end after ${maxMs / 1_000} s` : stderr.trim().slice(0, reasonMaxChars);
  return {
    kind: 'refused',
    message: `${request.configFile} cannot be loaded and bundled: ${reason || (signal ?? status)}`,
  };
}

function isTimeout(error: Error | undefined): boolean {
  return error !== undefined && 'code' in error && error.code === 'ETIMEDOUT';
}

/** Longest part shown of what Node says when it gives up. */
const reasonMaxChars = 2_000;

/** In a clone the program is TypeScript, which Node 20 does not run by itself. */
function loaderFor(program: string): readonly string[] {
  if (extname(program) !== '.ts') return [];
  return ['--import', pathToFileURL(createRequire(here).resolve('tsx')).href];
}
