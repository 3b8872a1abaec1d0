import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../base/errors.js';
import { type TokenKey, TokenKeys } from '../tokens/token-keys.js';

/** Format of the folder. A folder with a newer format is refused. */
const formatVersion = 1;

/**
 * Creates the folder if it is missing.
 * @throws EngineError `CONFIG_INVALID` for a newer format, or an unusable folder
 */
export async function openStateFolder(folder: string): Promise<void> {
  try {
    // Private, since the folder holds payloads and the key of the tokens.
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new EngineError(
      'CONFIG_INVALID',
      `the folder ${folder} cannot be created (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    );
  }
  if ((await formatOf(folder)) !== undefined) return;
  await writeWhole(join(folder, '.gitignore'), '*\n');
  await writeWhole(formatFileOf(folder), JSON.stringify({ format: 'outwait-state', version: formatVersion }));
}

/**
 * Returns the format of the folder; undefined if it has none yet.
 * @throws EngineError `CONFIG_INVALID` for a newer one
 */
export async function formatOf(folder: string): Promise<number | undefined> {
  const file = formatFileOf(folder);
  const found = await readJson(file);
  if (found === undefined) return undefined;
  const { version } = found as { version?: unknown };
  if (typeof version !== 'number') throw new EngineError('CONFIG_INVALID', `${file} does not name a version`);
  if (version > formatVersion) {
    throw new EngineError(
      'CONFIG_INVALID',
      `${folder} was written by a newer version of outwait (format ${version}, this version knows ${formatVersion}); update outwait, or choose another folder with --state`,
    );
  }
  return version;
}

const formatFileOf = (folder: string): string => join(folder, 'format.json');

/** Loads the token key of the folder, or creates it. @throws EngineError `CONFIG_INVALID` that names a damaged file */
export async function loadTokenKeys(folder: string): Promise<TokenKeys> {
  const file = join(folder, 'token-key.json');
  let stored = (await readJson(file)) as { keyId?: unknown; secret?: unknown } | undefined;
  if (stored === undefined) {
    stored = { keyId: 'local', secret: randomBytes(32).toString('base64url') };
    await writeWhole(file, JSON.stringify(stored));
  }
  const { keyId, secret } = stored;
  if (typeof keyId !== 'string' || typeof secret !== 'string') throw damaged(file);
  const key: TokenKey = { keyId, secret: Buffer.from(secret, 'base64url') };
  return new TokenKeys([key]);
}

async function readJson(file: string): Promise<object | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new EngineError(
      'CONFIG_INVALID',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Reported below.
  }
  throw damaged(file);
}

/** Writes a file atomically, readable by this user only. */
export async function writeWhole(file: string, content: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, content, { mode: 0o600, flush: true });
  await rename(draft, file);
}

function damaged(file: string): EngineError {
  return new EngineError('CONFIG_INVALID', `${file} is damaged`);
}
