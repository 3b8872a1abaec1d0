import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { bundle } from '../aws/bundle.js';
import { EngineError, isEngineError } from '../base/errors.js';
import type { App } from '../workflow/app.js';
import { checkSchedules } from '../workflow/schedule.js';

/**
 * Bundles the configuration as a deployment would and gives the app that it exports.
 * @throws EngineError `CONFIG_INVALID` that names the file
 */
export async function loadApp(configFile: string, buildFolder: string): Promise<App> {
  const { app: file } = await bundle({ configFile, outDir: buildFolder });
  if (file === undefined) throw new EngineError('INTERNAL', 'the bundle has no app');
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
    if (isApp(exported)) await checkSchedules(exported.schedules);
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

function isApp(value: unknown): value is App {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Partial<App>).workflows instanceof Map &&
    'servers' in value
  );
}
