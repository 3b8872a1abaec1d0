import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isEngineError } from '../base/errors.js';
import type { ServerConfig } from '../workflow/app.js';
import { CliError, exitCodes } from './cli-error.js';

/**
 * Returns the servers of a configuration by name.
 * @throws CliError if the configuration cannot be loaded, or lacks one of the `wanted` names
 */
export async function configuredServers(
  configFile: string,
  wanted: readonly string[],
): Promise<ReadonlyMap<string, ServerConfig>> {
  const { loadApp } = await import('../aws/load-app.js');
  const folder = await mkdtemp(join(tmpdir(), 'outwait-config-'));
  try {
    const { servers } = await loadApp(configFile, folder);
    const known = new Map(Object.entries(servers));
    const missing = wanted.find((name) => !known.has(name));
    if (missing === undefined) return known;
    const names = [...known.keys()].sort().join(', ');
    throw new CliError(
      `no server is named "${missing}"; ${configFile} has ${names === '' ? 'none' : names}. A URL begins with http:// or https://.`,
      exitCodes.failed,
    );
  } catch (error) {
    if (isEngineError(error)) throw new CliError(error.message, exitCodes.failed);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the URL of a server or of its card from the configuration. */
export function placesOf(config: ServerConfig): readonly string[] {
  if (config.url !== undefined) return [config.url];
  return 'card' in config && typeof config.card === 'string' ? [config.card] : [];
}
