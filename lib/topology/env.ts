import { defined } from '../base/defined.js';
import { EngineError } from '../base/errors.js';
import { hostReach } from '../base/host-reach.js';
import { dueShardsMax, dueShardsMin, streamSecondsMax, streamSecondsMin, streamsMaxMax } from '../base/limits.js';

/** Shortest management token: only its length protects it from guessing, and its holder may do everything. */
export const managementTokenMinChars = 24;

/** Names of the functions' environment variables. */
export const envNames = {
  table: 'OUTWAIT_TABLE',
  turnQueueUrl: 'OUTWAIT_TURN_QUEUE_URL',
  workQueueUrl: 'OUTWAIT_WORK_QUEUE_URL',
  stepQueueUrl: 'OUTWAIT_STEP_QUEUE_URL',
  startQueueUrl: 'OUTWAIT_START_QUEUE_URL',
  slowQueueUrl: 'OUTWAIT_SLOW_QUEUE_URL',
  /**
   * `keyId:base64url[,keyId:base64url]`; the first signs, all verify, the last makes the ids of keyed starts and stays
   * for good.
   */
  tokenKeys: 'OUTWAIT_TOKEN_KEYS',
  /**
   * Alternative: id or ARN of a Secrets Manager secret with such a text, or with a single key, whose id is then `k1`.
   */
  tokenKeysSecret: 'OUTWAIT_TOKEN_KEYS_SECRET',
  /**
   * Keys in the same form, 32 bytes each; the first encrypts payloads, all decrypt. Without it payloads are stored
   * unencrypted.
   */
  payloadKeys: 'OUTWAIT_PAYLOAD_KEYS',
  /**
   * Id, ARN or alias of a KMS key whose data keys encrypt payloads; OUTWAIT_PAYLOAD_KEYS then only decrypt older ones.
   */
  payloadKmsKey: 'OUTWAIT_PAYLOAD_KMS_KEY',
  /** `read` (the default) or `refuse`: whether payloads stored in the clear are read although a key is configured. */
  plainPayloads: 'OUTWAIT_PLAIN_PAYLOADS',
  /** Bearer token of the management routes; without any token they refuse every request. */
  managementToken: 'OUTWAIT_MANAGEMENT_TOKEN',
  /** Alternative: ids or ARNs of Secrets Manager secrets, separated by commas, each of which holds a token. */
  managementTokenSecret: 'OUTWAIT_MANAGEMENT_TOKEN_SECRET',
  /**
   * `token` (the default): management requests need the bearer token. `authorizer`: they must have passed the gateway's
   * authorizer.
   */
  managementAccess: 'OUTWAIT_MANAGEMENT_ACCESS',
  /** URL under which others reach the HTTP API. Without it no server is asked to push. */
  publicUrl: 'OUTWAIT_PUBLIC_URL',
  /** URL under which others call the served workflows, without `/a2a`. Its host is not taken from requests then. */
  serveUrl: 'OUTWAIT_SERVE_URL',
  /** Seconds after which a stream to a caller of a served workflow ends, to be opened again; default 180. */
  streamSeconds: 'OUTWAIT_STREAM_SECONDS',
  /** Open streams to callers of served workflows, of all processes together, 1 to 2,000; default 100. */
  streamsMax: 'OUTWAIT_STREAMS_MAX',
  /** Name or ARN of the EventBridge bus that receives lifecycle events. Without it none are published. */
  eventBus: 'OUTWAIT_EVENT_BUS',
  /** Partitions of the due index over which markers are spread, 16 (the default) to 256; may be changed at any time. */
  dueShards: 'OUTWAIT_DUE_SHARDS',
  /** `debug`, `info`, `warn` or `error`; default `info`. */
  logLevel: 'OUTWAIT_LOG_LEVEL',
} as const;

/** Variables that Lambda sets. */
const lambdaNames = { functionName: 'AWS_LAMBDA_FUNCTION_NAME', version: 'AWS_LAMBDA_FUNCTION_VERSION' } as const;

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

const plainPayloads = ['read', 'refuse'] as const;
export type PlainPayloads = (typeof plainPayloads)[number];

/** A secret text: given directly, or stored in Secrets Manager. */
export type TextSource =
  { readonly kind: 'text'; readonly text: string } | { readonly kind: 'secret'; readonly secretId: string };

/** An immutable version of a function. */
export interface PublishedVersion {
  readonly functionName: string;
  /** Version number. */
  readonly version: string;
}

export interface Env {
  readonly table: string;
  readonly turnQueueUrl: string;
  readonly workQueueUrl: string;
  readonly stepQueueUrl: string;
  readonly startQueueUrl: string;
  readonly slowQueueUrl: string;
  readonly tokenKeys: TextSource;
  readonly payloadKeys: string | undefined;
  readonly payloadKmsKey: string | undefined;
  readonly plainPayloads: PlainPayloads;
  readonly publicUrl: string | undefined;
  /** URL under which others call the served workflows. */
  readonly serveUrl: string | undefined;
  readonly eventBus: string | undefined;
  /** Function and version that run; undefined unless it is a published version. */
  readonly version: PublishedVersion | undefined;
  readonly dueShards: number;
  readonly logLevel: LogLevel;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the environment of a function.
 * @throws EngineError `CONFIG_INVALID` that names every missing or wrong variable, but no value
 */
export function readEnv(variables: Variables): Env {
  const required = ['table', 'turnQueueUrl', 'workQueueUrl', 'stepQueueUrl', 'startQueueUrl', 'slowQueueUrl'] as const;
  const tokenKeys = readText(variables, envNames.tokenKeys, envNames.tokenKeysSecret);
  const missing = [
    ...required.map((name) => envNames[name]).filter((name) => (variables[name] ?? '') === ''),
    ...(tokenKeys === undefined ? [envNames.tokenKeys] : []),
  ];
  if (tokenKeys === undefined || missing.length > 0)
    throw new EngineError('CONFIG_INVALID', `environment variables are missing: ${missing.join(', ')}`);
  return {
    table: variables[envNames.table] ?? '',
    turnQueueUrl: variables[envNames.turnQueueUrl] ?? '',
    workQueueUrl: variables[envNames.workQueueUrl] ?? '',
    stepQueueUrl: variables[envNames.stepQueueUrl] ?? '',
    startQueueUrl: variables[envNames.startQueueUrl] ?? '',
    slowQueueUrl: variables[envNames.slowQueueUrl] ?? '',
    tokenKeys,
    ...readPayloadKeySources(variables),
    publicUrl: readUrl(variables, envNames.publicUrl),
    serveUrl: readUrl(variables, envNames.serveUrl),
    eventBus: optional(variables, envNames.eventBus),
    dueShards: readDueShards(variables),
    version: readVersion(variables),
    logLevel: readLogLevel(variables),
  };
}

/**
 * Returns undefined if it is not set, or empty.
 * @throws EngineError `CONFIG_INVALID`, see checkedManagementToken
 */
export function readManagementToken(variables: Variables): string | undefined {
  const token = optional(variables, envNames.managementToken);
  return token === undefined ? undefined : checkedManagementToken(token, envNames.managementToken);
}

/**
 * Returns the token without surrounding white space, which a header would lose. `subject` begins the message.
 * @throws EngineError `CONFIG_INVALID` if it is short enough to be guessed, or no header can carry it
 */
export function checkedManagementToken(text: string, subject: string): string {
  const token = text.trim();
  const problem = !/^[\x21-\x7e]*$/.test(token)
    ? 'it has others'
    : token.length < managementTokenMinChars
      ? `it has ${token.length}`
      : undefined;
  if (problem === undefined) return token;
  throw new EngineError(
    'CONFIG_INVALID',
    `${subject} must have at least ${managementTokenMinChars} characters, all of them visible ASCII; ${problem}`,
  );
}

/** @throws EngineError `CONFIG_INVALID`, see checkedPublicUrl */
function readUrl(variables: Variables, name: string): string | undefined {
  const url = optional(variables, name);
  return url === undefined ? undefined : checkedPublicUrl(url, name);
}

/** Longest public URL: with a push token it must still be short enough for any server. */
const publicUrlMaxChars = 1_024;

/**
 * Returns the URL without a slash at its end. `subject` begins the message.
 * @throws EngineError `CONFIG_INVALID` if it is not an https URL (http within this machine or a private network), or has
 * more than a path
 */
export function checkedPublicUrl(text: string, subject: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.username + url.password + url.search + url.hash === '';
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && hostReach(url.hostname) !== 'public');
  if (isPlain && isSafe && text.length <= publicUrlMaxChars) return url.href.replace(/\/$/, '');
  throw new EngineError(
    'CONFIG_INVALID',
    `${subject} must be an https URL of at most ${publicUrlMaxChars} characters, without user info, query or fragment; http only for a host of a private network`,
  );
}

export type ManagementAccess =
  /** Any of the tokens is accepted; without one every request is refused. */
  { readonly kind: 'token'; readonly tokens: readonly TextSource[] } | { readonly kind: 'authorizer' };

/**
 * Reads who may use the management routes of a deployment.
 * @throws EngineError `CONFIG_INVALID`
 */
export function readManagementAccess(variables: Variables): ManagementAccess {
  const kind = optional(variables, envNames.managementAccess) ?? 'token';
  if (kind === 'authorizer') return { kind };
  if (kind !== 'token')
    throw new EngineError('CONFIG_INVALID', `${envNames.managementAccess} must be one of token, authorizer`);
  const source = readText(variables, envNames.managementToken, envNames.managementTokenSecret);
  switch (source?.kind) {
    case undefined:
      return { kind, tokens: [] };
    case 'text':
      return { kind, tokens: [{ kind: 'text', text: checkedManagementToken(source.text, envNames.managementToken) }] };
    case 'secret':
      return { kind, tokens: idsIn(source.secretId).map((secretId) => ({ kind: 'secret', secretId })) };
  }
}

export interface Serving {
  /** URL under which others call the served workflows. Default: that of the request. */
  readonly serveUrl?: string;
  /** Time after which a stream ends, to be opened again. Default 3 minutes. */
  readonly streamMaxMs?: number;
  /** Streams that may be open at once. Default 100. */
  readonly streamsMax?: number;
}

/**
 * Reads how a deployment serves workflows.
 * @throws EngineError `CONFIG_INVALID`
 */
export function readServing(variables: Variables): Serving {
  const seconds = optional(variables, envNames.streamSeconds);
  const streams = optional(variables, envNames.streamsMax);
  return defined({
    serveUrl: readUrl(variables, envNames.serveUrl),
    streamMaxMs: seconds === undefined ? undefined : 1_000 * checkedStreamSeconds(seconds, envNames.streamSeconds),
    streamsMax: streams === undefined ? undefined : checkedStreamsMax(streams, envNames.streamsMax),
  });
}

/**
 * Returns the number of seconds. `subject` begins the message.
 * @throws EngineError `CONFIG_INVALID` if a stream of that length would not fit into an invocation
 */
export function checkedStreamSeconds(text: string, subject: string): number {
  return wholeNumber(text, subject, { min: streamSecondsMin, max: streamSecondsMax });
}

/** Returns the number of streams. `subject` begins the message. @throws EngineError `CONFIG_INVALID` */
export function checkedStreamsMax(text: string, subject: string): number {
  return wholeNumber(text, subject, { min: 1, max: streamsMaxMax });
}

function wholeNumber(
  text: string,
  subject: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const number = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new EngineError('CONFIG_INVALID', `${subject} must be a whole number from ${min} to ${max}`);
}

function idsIn(list: string): readonly string[] {
  return list
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
}

/**
 * Reads a secret text.
 * @throws EngineError `CONFIG_INVALID` if both variables are set
 */
function readText(variables: Variables, textName: string, secretName: string): TextSource | undefined {
  const text = optional(variables, textName);
  const secretId = optional(variables, secretName);
  if (text !== undefined && secretId !== undefined)
    throw new EngineError('CONFIG_INVALID', `only one of ${textName} and ${secretName} may be set`);
  if (secretId !== undefined) return { kind: 'secret', secretId };
  return text === undefined ? undefined : { kind: 'text', text };
}

/**
 * Reads the sources of payload keys, each undefined if it is not set, or empty.
 * @throws EngineError `CONFIG_INVALID`
 */
export function readPayloadKeySources(
  variables: Variables,
): Pick<Env, 'payloadKeys' | 'payloadKmsKey' | 'plainPayloads'> {
  return {
    payloadKeys: optional(variables, envNames.payloadKeys),
    payloadKmsKey: optional(variables, envNames.payloadKmsKey),
    plainPayloads: readPlainPayloads(variables),
  };
}

function readPlainPayloads(variables: Variables): PlainPayloads {
  const given = optional(variables, envNames.plainPayloads) ?? 'read';
  const known = plainPayloads.find((word) => word === given);
  if (known === undefined)
    throw new EngineError('CONFIG_INVALID', `${envNames.plainPayloads} must be one of ${plainPayloads.join(', ')}`);
  return known;
}

function optional(variables: Variables, name: string): string | undefined {
  return variables[name] === '' ? undefined : variables[name];
}

function readDueShards(variables: Variables): number {
  const given = optional(variables, envNames.dueShards) ?? String(dueShardsMin);
  const shards = /^[0-9]+$/.test(given) ? Number(given) : Number.NaN;
  if (!(shards >= dueShardsMin && shards <= dueShardsMax))
    throw new EngineError(
      'CONFIG_INVALID',
      `${envNames.dueShards} must be a whole number from ${dueShardsMin} to ${dueShardsMax}`,
    );
  return shards;
}

function readVersion(variables: Variables): PublishedVersion | undefined {
  const functionName = optional(variables, lambdaNames.functionName);
  const version = optional(variables, lambdaNames.version);
  if (functionName === undefined || version === undefined || version === '$LATEST') return undefined;
  return { functionName, version };
}

function readLogLevel(variables: Variables): LogLevel {
  const given = variables[envNames.logLevel] ?? 'info';
  const level = logLevels.find((name) => name === given);
  if (level === undefined)
    throw new EngineError('CONFIG_INVALID', `${envNames.logLevel} must be one of ${logLevels.join(', ')}`);
  return level;
}
