import { defined } from '../../base/defined.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { RemoteProtocol } from '../../history/remote-protocol.js';

/** Result of the inspection of a server. */
export interface ServerLook {
  /** Whether a task can be started with `config`. */
  readonly callable: boolean;
  /** The entry of the configuration, or the entry for a URL. */
  readonly config: ServerConfig;
  /** Facts in the order of display. */
  readonly facts: readonly Fact[];
  /** Missing features, and obstacles. */
  readonly missing: readonly string[];
  readonly options: readonly Option[];
  /** Options guessed from names of the server. Only the author can confirm them, so the entry has none of them. */
  readonly guesses?: readonly Option[];
}

export interface Fact {
  readonly name: string;
  readonly text: string;
}

/** A helpful option, as written in a configuration. */
export interface Option {
  /** `allowedHosts: ["api.example.com"]` */
  readonly line: string;
  readonly why: string;
}

/** Most skills or tools that are shown. */
export const listedMax = 20;

/** Applies `clean` to every text of `look`. */
export function cleaned(look: ServerLook, clean: (text: string) => string): ServerLook {
  const cleanOption = ({ line, why }: Option): Option => ({ line: clean(line), why });
  return {
    ...look,
    facts: look.facts.map(({ name, text }) => ({ name, text: clean(text) })),
    missing: look.missing.map(clean),
    options: look.options.map(cleanOption),
    ...defined({ guesses: look.guesses?.map(cleanOption) }),
  };
}

export function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - listedMax;
  return `${names.slice(0, listedMax).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Returns the kinds of credentials that the entry has, never their values. */
export function authSet({ auth }: Pick<ServerConfig, 'auth'>): string {
  const kinds = [
    ...(auth?.bearer === undefined ? [] : ['bearer']),
    ...(auth?.oauth === undefined ? [] : ['oauth']),
    ...(auth?.sigv4 === undefined ? [] : ['sigv4']),
    ...Object.keys(auth?.headers ?? {}).map((name) => `header ${name}`),
  ];
  return kinds.length === 0 ? 'none set' : `set: ${kinds.join(', ')}`;
}

/** Hint for a server that does not declare deduplication. Only the author may know more. */
export const noDedupes =
  'a repeated start would do the work twice, so a start without a reply ends as REMOTE_START_AMBIGUOUS; if the server deduplicates by Idempotency-Key, set dedupes: true';

/** Option for a server that requires authentication. */
export const authOption: Option = {
  line: `auth: { bearer: secret('TOKEN') }`,
  why: 'the server requires authentication; oauth, sigv4 and headers are the alternatives',
};

export const privateOption: Option = {
  line: 'allowPrivateAddresses: true',
  why: 'the address is not public, or uses plain http',
};

export function isAddressProblem(message: string): boolean {
  return /allowed private address|address of the server is not allowed|no address that is allowed/.test(message);
}

const makers = { mcp: 'mcpServer', a2a: 'a2aAgent' } satisfies Record<RemoteProtocol, string>;

/** Returns the line for `servers` of a configuration, for a server found at a URL. */
export function entryLine({ config, options }: ServerLook): string {
  const maker = makers[config.protocol];
  const place =
    config.url === undefined ? `card: ${JSON.stringify(config.card)}` : `url: ${JSON.stringify(config.url)}`;
  return `server: ${maker}({ ${[place, ...options.map(({ line }) => line)].join(', ')} }),`;
}
