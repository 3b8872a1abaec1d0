import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processesWithArgument } from '../../lib/local/process-identity.js';
import { type Child, type Children, killProcess } from './child.js';

const bin = fileURLToPath(new URL('../../bin/outwait.js', import.meta.url));

/** `outwait dev` as a process of its own. */
export interface DevEngine {
  readonly process: Child;
  readonly url: string;
  /** Name and place of its store. */
  readonly store: string;
}

export interface DevEngineOptions {
  readonly config: string;
  readonly folder: string;
  readonly port: number;
  /** Default: as `outwait dev` chooses. */
  readonly store?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `outwait dev` and waits until it is ready. */
export async function startDevEngine(
  children: Children,
  { config, folder, port, store, env = {} }: DevEngineOptions,
  signal: AbortSignal,
): Promise<DevEngine> {
  const args = [bin, 'dev', '--port', String(port), '--config', config, '--state', folder];
  if (store !== undefined) args.push('--store', store);
  const started = await children.start('outwait dev', { args, ready: /^outwait dev ready at/, env }, signal);
  const [, url = '', at = ''] = /ready at (\S+) \(store: (.*)\)$/.exec(started.readyLine) ?? [];
  return { process: started, url, store: at };
}

/**
 * Kills an engine as a crash would, and then its database; in the other order the engine would restart the database.
 * Returns what was killed, for a person.
 */
export async function crash(engine: DevEngine, folder: string): Promise<string> {
  const { pid } = engine.process;
  const databases = databasesOn(folder);
  const isPartOfEngine = engine.store.startsWith('memory');
  if (databases.length === 0 && !isPartOfEngine) throw new Error('the process of the database was not found');
  await engine.process.kill();
  for (const database of databases) await killProcess(database);
  return isPartOfEngine
    ? `the engine (process ${pid}); its store is part of it, there is no database process`
    : `the engine (process ${pid}) and its database (process ${databases.join(', ')})`;
}

/** Finds the process of the database that `outwait dev` runs on a folder; none if the store is part of the engine. */
export function databasesOn(folder: string): number[] {
  return processesWithArgument(join(folder, 'dynamodb.sqlite'));
}

/** Picks a free port. An engine cannot choose one itself if its second start needs the same port. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
