import { defined } from '../../base/defined.js';
import type { ServerConfig } from '../../workflow/app.js';
import type { RemoteProtocol } from '../../history/remote-protocol.js';

/** What a look at a server has found. */
export interface ServerLook {
  /** A task can be started with `config`. */
  readonly callable: boolean;
  /** The entry as it is, or as it would be for a URL. */
  readonly config: ServerConfig;
  /** In the order in which they are shown. */
  readonly facts: readonly Fact[];
  /** What it does not have, or what is in the way. */
  readonly missing: readonly string[];
  readonly options: readonly Option[];
  /** Options that may help, by what the server calls things. Only the author can know, so the entry has none of them. */
  readonly guesses?: readonly Option[];
}

export interface Fact {
  readonly name: string;
  readonly text: string;
}

/** An option of the entry that helps, as it stands in a configuration. */
export interface Option {
  /** `allowedHosts: ["api.example.com"]` */
  readonly line: string;
  readonly why: string;
}

/** How many skills or tools are shown. */
export const listedMax = 20;

/** `look` with every text put through `clean`. */
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

/** Which credentials the entry has, never what they are. */
export function authSet({ auth }: Pick<ServerConfig, 'auth'>): string {
  const kinds = [
    ...(auth?.bearer === undefined ? [] : ['bearer']),
    ...(auth?.oauth === undefined ? [] : ['oauth']),
    ...(auth?.sigv4 === undefined ? [] : ['sigv4']),
    ...Object.keys(auth?.headers ?? {}).map((name) => `header ${name}`),
  ];
  return kinds.length === 0 ? 'none set' : `set: ${kinds.join(', ')}`;
}

/** Only the author can know better. */
export const noDedupes =
  'a repeated start would do the work twice, so one without an answer ends as REMOTE_START_AMBIGUOUS; if the server knows repeats by their Idempotency-Key, set dedupes: true';

/** For a server that refuses whoever does not say who calls. */
export const authOption: Option = {
  line: `auth: { bearer: secret('TOKEN') }`,
  why: 'the server asks who calls; oauth, sigv4 and headers are the other forms',
};

export const privateOption: Option = {
  line: 'allowPrivateAddresses: true',
  why: 'the address is not public, or is plain http',
};

export function isAddressProblem(message: string): boolean {
  return /allowed private address|address of the server is not allowed|no address that is allowed/.test(message);
}

const makers = { mcp: 'mcpServer', a2a: 'a2aAgent' } satisfies Record<RemoteProtocol, string>;

/** The line for the `servers` of a configuration, for what was found at a URL. */
export function entryLine({ config, options }: ServerLook): string {
  const maker = makers[config.protocol];
  const place =
    config.url === undefined ? `card: ${JSON.stringify(config.card)}` : `url: ${JSON.stringify(config.url)}`;
  return `server: ${maker}({ ${[place, ...options.map(({ line }) => line)].join(', ')} }),`;
}
