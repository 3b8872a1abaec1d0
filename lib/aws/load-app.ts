import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { EngineError, isEngineError } from '../base/errors.js';
import { validInput } from '../operations/requests/new-head.js';
import type { App } from '../workflow/app.js';
import { problemWithCallbacks } from '../workflow/callbacks.js';
import { problemWithServe } from '../workflow/check-serve.js';
import { checkSchedules, type Schedule } from '../workflow/schedule.js';
import { bundle } from '../bundle/bundle.js';
import { system } from '../process/system.js';

/**
 * Bundles the configuration as a deployment would and returns the app that it exports.
 * @throws EngineError `CONFIG_INVALID` like `bundleApp` and `importApp`
 */
export async function loadApp(configFile: string, buildFolder: string): Promise<App> {
  return importApp(configFile, await bundleApp(configFile, buildFolder));
}

/**
 * Bundles the app and returns the file to import.
 * @throws EngineError `CONFIG_INVALID` that names the file and, if known, the place of the mistake
 */
export async function bundleApp(configFile: string, buildFolder: string): Promise<string> {
  const { app: file } = await bundle({ configFile, outDir: buildFolder });
  if (file === undefined) throw new EngineError('INTERNAL', 'the bundle has no app');
  return file;
}

/**
 * Returns the app of a bundled configuration. Also checks what `defineApp` leaves to callers with more time: patterns
 * and inputs of schedules, and what is served.
 * @throws EngineError `CONFIG_INVALID` that names the configuration
 */
export async function importApp(configFile: string, file: string): Promise<App> {
  const url = pathToFileURL(file);
  // Names the module by its content: Node caches a module for as long as the process runs.
  url.searchParams.set(
    'content',
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex')
      .slice(0, 16),
  );
  let exported: unknown;
  try {
    exported = ((await import(url.href)) as { default?: unknown }).default;
    if (isApp(exported)) {
      await checkSchedules(exported.schedules);
      for (const schedule of exported.schedules) await checkInput(schedule);
      const { serve, workflows, callbacks } = exported;
      const problem = serve === undefined ? undefined : problemWithServe(serve, workflows);
      if (problem !== undefined) throw new EngineError('CONFIG_INVALID', `serve.${problem}`);
      const wrong = callbacks === undefined ? undefined : problemWithCallbacks(callbacks);
      if (wrong !== undefined) throw new EngineError('CONFIG_INVALID', `callbacks.${wrong}`);
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it threw a value that is not an Error';
    throw new EngineError(
      'CONFIG_INVALID',
      `${configFile} ${isEngineError(error) ? 'is not valid' : 'cannot be loaded'}: ${reason}`,
      { cause: error },
    );
  }
  if (!isApp(exported))
    throw new EngineError(
      'CONFIG_INVALID',
      `${configFile} must have an app as its default export: export default defineApp({ … })`,
    );
  return exported;
}

/** Checks the input of a schedule now: otherwise each of its ticks would be refused. */
async function checkInput({ name, workflow, input }: Schedule): Promise<void> {
  try {
    await validInput(system, workflow, input);
  } catch (error) {
    if (!isEngineError(error)) throw error;
    throw new EngineError('CONFIG_INVALID', `schedule "${name}": ${error.message}`, { cause: error });
  }
}

function isApp(value: unknown): value is App {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Partial<App>).workflows instanceof Map &&
    'servers' in value
  );
}
