import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { EngineError, isEngineError } from '../base/errors.js';
import { validInput } from '../operations/requests/start-run.js';
import type { App } from '../workflow/app.js';
import { checkSchedules, type Schedule } from '../workflow/schedule.js';
import { bundle } from '../bundle/bundle.js';
import { system } from '../process/system.js';

/**
 * Bundles the configuration as a deployment would and gives the app that it exports.
 * @throws EngineError `CONFIG_INVALID` as `bundleApp` and `importApp` do
 */
export async function loadApp(configFile: string, buildFolder: string): Promise<App> {
  return importApp(configFile, await bundleApp(configFile, buildFolder));
}

/** The file to import. @throws EngineError `CONFIG_INVALID` that names the file and, where there is one, the place of the mistake */
export async function bundleApp(configFile: string, buildFolder: string): Promise<string> {
  const { app: file } = await bundle({ configFile, outDir: buildFolder });
  if (file === undefined) throw new EngineError('INTERNAL', 'the bundle has no app');
  return file;
}

/**
 * The app of a bundled configuration. Checks of it also what `defineApp` leaves to a caller with more time: patterns and
 * inputs of schedules.
 * @throws EngineError `CONFIG_INVALID` that names the configuration
 */
export async function importApp(configFile: string, file: string): Promise<App> {
  const url = pathToFileURL(file);
  // Node keeps a module for as long as the process runs; another content must have another name.
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
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it threw something that is no error';
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

/** Without this check every tick would be refused, one after the other. */
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
