import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type AppSecret, secretsOfApp } from '../aws/app-secrets.js';
import { loadApp } from '../aws/load-app.js';
import type { App } from '../workflow/app.js';
import { dynoxideVersion, findDynoxide } from './dynoxide.js';
import { ownerOf } from './folder-lock.js';
import { formatOf } from './state-folder.js';

export interface DoctorOptions {
  readonly port: number;
  readonly configFile: string;
  readonly stateFolder: string;
  readonly nodeVersion: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Finding {
  /** Name of the check. */
  readonly check: string;
  readonly ok: boolean;
  /** Result of the check, and what to do about a problem. */
  readonly text: string;
}

/** Checks everything that local mode needs, without changing it. The checks are independent: all are made. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const { nodeVersion, configFile, port, stateFolder, environment } = options;
  const app = await examined('configuration', () => loadForLook(configFile), describeApp);
  return [
    await finding('node', () => checkNode(nodeVersion)),
    app.finding,
    ...(app.value === undefined ? [] : [await finding('secrets', () => checkSecrets(app.value, environment))]),
    await finding('port', () => checkPort(port)),
    await finding('database', () => checkDatabase()),
    await finding('state', () => checkState(resolve(stateFolder))),
  ];
}

async function examined<Value>(
  check: string,
  look: () => Promise<Value>,
  describe: (value: Value) => string,
): Promise<{ readonly finding: Finding; readonly value: Value | undefined }> {
  try {
    const value = await look();
    return { value, finding: { check, ok: true, text: describe(value) } };
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unknown error';
    return { value: undefined, finding: { check, ok: false, text } };
  }
}

/** Makes a check that returns its text or throws the problem. */
async function finding(check: string, look: () => Promise<string> | string): Promise<Finding> {
  return (await examined(check, async () => look(), String)).finding;
}

function checkNode(version: string): string {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) throw new Error(`${version}; 20.19 or newer is needed`);
  return version;
}

async function loadForLook(configFile: string): Promise<App> {
  const folder = await mkdtemp(join(tmpdir(), 'outwait-doctor-'));
  try {
    return await loadApp(configFile, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function describeApp({ workflows, servers }: App): string {
  return `${count(workflows.size, 'workflow')}, ${count(Object.keys(servers).length, 'server')}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** Checks that the secrets of the environment are set. Secrets of AWS are named but not read. */
function checkSecrets(app: App | undefined, environment: DoctorOptions['environment']): string {
  const references = app === undefined ? [] : secretsOfApp(app);
  const namesOf = (isOurs: (secret: AppSecret) => boolean) =>
    new Set(references.filter(isOurs).map(({ name }) => name));
  const names = namesOf(({ kind }) => kind === 'environment');
  const ofAws = namesOf(({ kind }) => kind !== 'environment');
  const missing = [...names].filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0) throw new Error(`not in the environment: ${missing.join(', ')}`);
  const found = [
    ...(names.size === 0 ? [] : [`${[...names].join(', ')} set`]),
    ...(ofAws.size === 0 ? [] : [`kept by AWS, not checked: ${[...ofAws].join(', ')}`]),
  ];
  return found.length === 0 ? 'the configuration names none' : found.join('; ');
}

function checkPort(port: number): Promise<string> {
  return new Promise((found, refused) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${error.code ?? 'unknown'})`;
      refused(new Error(`${port} ${why}; choose another with --port, or stop the process that uses it`));
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        found(port === 0 ? 'a free port will be used' : `${port} is free`);
      });
    });
  });
}

function checkDatabase(): string {
  const binary = findDynoxide();
  if (binary === undefined) return 'dynoxide is not installed; runs are kept in memory and in a journal';
  return `${dynoxideVersion(binary)} works`;
}

async function checkState(folder: string): Promise<string> {
  if ((await readdir(folder).catch(ifMissing)) === undefined) return `${folder} does not exist yet; it will be created`;
  const version = await formatOf(folder);
  const owner = await ownerOf(folder);
  if (owner !== undefined) throw new Error(`${folder} is in use by an outwait dev (process ${owner.pid})`);
  return version === undefined ? `${folder} has no runs yet` : `${folder} has format ${version} and is not in use`;
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
