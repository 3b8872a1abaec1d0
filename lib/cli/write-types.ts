import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { silentLog } from '../base/log.js';
import { system } from '../process/system.js';
import { GuardedHttpClient } from '../remote/http/http.js';
import { readOffers, type Offer, type Offers } from '../remote/try/offers.js';
import { WireTap } from '../remote/try/wire-tap.js';
import type { ServerConfig } from '../workflow/app.js';
import { CliError, exitCodes } from './cli-error.js';
import { configuredServers, placesOf } from './configured-servers.js';
import { print } from './output.js';
import { changesBetween } from './server-types/compare.js';
import { renderTypes, type ServerOffers } from './server-types/render.js';
import { counted } from './counted.js';

export interface TypesFlags {
  readonly config: string;
  readonly out?: string;
  readonly check?: boolean;
  readonly json?: boolean;
}

/**
 * Writes types of what the servers of a configuration offer or, with `--check`, compares them with the file and sets
 * the exit code to 1 if it is out of date. Without `names` all servers are read.
 * @throws CliError if a server does not say what it offers, or the file cannot be read or written
 */
export async function writeTypes(names: readonly string[], flags: TypesFlags): Promise<void> {
  const configured = await configuredServers(flags.config, names);
  const asked = new Set(names.length === 0 ? configured.keys() : names);
  const servers = await Promise.all(
    [...configured]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([name, config]) => ({
        name,
        offers: asked.has(name) ? await offersOf(name, config) : undefined,
      })),
  );
  const known = servers.map(({ name, offers }) => ({
    name,
    offers: offers === undefined ? undefined : said(name, offers),
  }));
  const text = renderTypes(known, ['outwait types', ...[...new Set(names)].sort()].join(' '));
  const file = flags.out ?? join(dirname(flags.config), 'outwait.servers.d.ts');
  const counts = known.map(({ name, offers }) => ({ server: name, ...countIn(offers) }));
  const before = await currentText(file);
  const changes = before === undefined ? [`+ ${file}`] : changesBetween(before, text);
  if (flags.check !== true && changes.length > 0) await written(file, text);
  print(flags, { file, servers: counts, changes }, () => formatTypes(file, counts, changes, flags.check === true));
  if (flags.check === true && changes.length > 0) process.exitCode = exitCodes.failed;
}

async function offersOf(name: string, config: ServerConfig): Promise<Offers> {
  const http = new GuardedHttpClient({ allowLoopback: true });
  // Names are not cleaned of keys in the URL: an agent may name its skill by one, and is called by that name.
  const names = new WireTap(http, system.clock, [], () => undefined);
  const texts = new WireTap(names, system.clock, placesOf(config), () => undefined);
  const readSecret = (secretName: string): string | undefined => process.env[secretName];
  try {
    const offers = await readOffers(name, config, { ...system, http: texts, readSecret, log: silentLog });
    return cleaned(offers, names, texts);
  } finally {
    await http.close();
  }
}

/** Removes credentials that a server echoes: the file is kept with the code. */
function cleaned(offers: Offers, names: WireTap, texts: WireTap): Offers {
  if (offers.kind === 'unknown') return { ...offers, problem: texts.clean(offers.problem) };
  const clean = ({ name, ...rest }: Offer): Offer => ({
    ...(cleanedPart(rest, (text) => texts.clean(text)) as Omit<Offer, 'name'>),
    name: names.clean(name),
  });
  const list = offers.offers?.map(clean);
  return offers.kind === 'tools' ? { ...offers, offers: list ?? [] } : { kind: 'skills', offers: list };
}

function cleanedPart(part: unknown, clean: (text: string) => string): unknown {
  if (typeof part === 'string') return clean(part);
  if (Array.isArray(part)) return part.map((item) => cleanedPart(item, clean));
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [clean(name), cleanedPart(value, clean)]));
}

function said(name: string, offers: Offers): NonNullable<ServerOffers['offers']> {
  if (offers.kind !== 'unknown') return offers;
  throw new CliError(
    `the server "${name}" does not say what it offers: ${offers.problem}. Nothing was written. To skip this server, name the others as arguments.`,
    exitCodes.failed,
  );
}

async function currentText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CliError(`${file} cannot be read (${code})`, exitCodes.usage);
  }
}

async function written(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CliError(`${file} cannot be written (${code})`, exitCodes.usage);
  }
}

interface Counted {
  readonly server: string;
  readonly tools?: number;
  readonly skills?: number;
}

function countIn(offers: ServerOffers['offers']): Omit<Counted, 'server'> {
  return offers?.offers === undefined ? {} : { [offers.kind]: offers.offers.length };
}

function formatTypes(file: string, counts: readonly Counted[], changes: readonly string[], isCheck: boolean): string {
  const servers = counts.map(({ server, tools, skills }) => {
    if (tools !== undefined) return `${server}: ${counted(tools, 'tool')}`;
    return skills === undefined ? `${server}: name only` : `${server}: ${counted(skills, 'skill')}`;
  });
  if (changes.length === 0) return [`${file} is up to date`, ...servers].join('\n');
  return isCheck
    ? [`${file} is out of date; update it with outwait types`, ...changes].join('\n')
    : [`${file} written`, ...servers, ...changes].join('\n');
}
