// A program that loads the app as the functions of a deployment will, and bundles them. Reads its request from standard
// input and writes the outcome to a file, since the user's code may print, and may end this process. A separate process
// because bundling is asynchronous and a construct cannot wait.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../lib/bundle/bundle.js';
import { isEngineError } from '../lib/base/errors.js';
import { type BundleOutcome, type BundleRequest, outcomeFile } from './bundle-request.js';
import { loadAsDeployed } from './load-as-deployed.js';

const here = fileURLToPath(import.meta.url);
const request = JSON.parse(readFileSync(0, 'utf8')) as BundleRequest;

// Also raised for a rejected promise that is not awaited.
process.on('uncaughtException', (error: unknown) => {
  const reason = error instanceof Error ? error.message : 'a value that is not an Error';
  end({
    kind: 'refused',
    message: `${request.configFile} cannot be loaded: uncaught error: ${reason}`,
  });
});
process.on('exit', refuseTheEnd);

end(await run());

/** Exits at once: work that the app started on loading would keep this process alive. */
function end(outcome: BundleOutcome): void {
  process.off('exit', refuseTheEnd);
  tell(outcome);
  process.exit();
}

function refuseTheEnd(code: number): void {
  const message = `${request.configFile} cannot be loaded: it ends the process that loads it, with exit code ${code}`;
  tell({ kind: 'refused', message });
}

function tell(outcome: BundleOutcome): void {
  writeFileSync(join(request.outDir, outcomeFile), JSON.stringify(outcome));
}

async function run(): Promise<BundleOutcome> {
  try {
    // Loads first: that is quicker, and finds most mistakes.
    const loaded: BundleOutcome =
      request.load === undefined ? { kind: 'done' } : await loadAsDeployed(request, request.load);
    if (loaded.kind !== 'refused') await Promise.all(request.names.map(bundleFunction));
    return loaded;
  } catch (error) {
    if (isEngineError(error)) return { kind: 'refused', message: error.message };
    throw error;
  }
}

async function bundleFunction(name: string): Promise<void> {
  const { configFile, outDir } = request;
  const folder = join(outDir, name);
  // TypeScript in a clone, JavaScript when built.
  const entry = join(dirname(here), '..', 'functions', `${name}${extname(here)}`);
  await bundle({ configFile, outDir: folder, entries: { index: entry } });
}
