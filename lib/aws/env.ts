import { EngineError } from '../base/errors.js';

/** Environment variables of the functions. */
export const envNames = {
  table: 'OUTWAIT_TABLE',
  turnQueueUrl: 'OUTWAIT_TURN_QUEUE_URL',
  workQueueUrl: 'OUTWAIT_WORK_QUEUE_URL',
  stepQueueUrl: 'OUTWAIT_STEP_QUEUE_URL',
  /** `keyId:base64url[,keyId:base64url]`; the first signs, all verify, the last makes the ids of keyed starts and stays for good. */
  tokenKeys: 'OUTWAIT_TOKEN_KEYS',
  /** The same form, 32 bytes each; the first encrypts payloads, all decrypt. Without it payloads are stored as they are. */
  payloadKeys: 'OUTWAIT_PAYLOAD_KEYS',
  /** Id, ARN or alias of a key of KMS, whose data keys encrypt payloads; OUTWAIT_PAYLOAD_KEYS then only decrypt older ones. */
  payloadKmsKey: 'OUTWAIT_PAYLOAD_KMS_KEY',
  /** Bearer token of the management routes; without it they refuse every request. */
  managementToken: 'OUTWAIT_MANAGEMENT_TOKEN',
  /** `debug`, `info`, `warn` or `error`; default `info`. */
  logLevel: 'OUTWAIT_LOG_LEVEL',
} as const;

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Env {
  readonly table: string;
  readonly turnQueueUrl: string;
  readonly workQueueUrl: string;
  readonly stepQueueUrl: string;
  readonly tokenKeys: string;
  readonly payloadKeys: string | undefined;
  readonly payloadKmsKey: string | undefined;
  readonly managementToken: string | undefined;
  readonly logLevel: LogLevel;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws EngineError `CONFIG_INVALID` that names every variable that is missing or wrong, and no value */
export function readEnv(variables: Variables): Env {
  const required = ['table', 'turnQueueUrl', 'workQueueUrl', 'stepQueueUrl', 'tokenKeys'] as const;
  const missing = required.map((name) => envNames[name]).filter((name) => (variables[name] ?? '') === '');
  if (missing.length > 0)
    throw new EngineError('CONFIG_INVALID', `environment variables are missing: ${missing.join(', ')}`);
  return {
    table: variables[envNames.table] ?? '',
    turnQueueUrl: variables[envNames.turnQueueUrl] ?? '',
    workQueueUrl: variables[envNames.workQueueUrl] ?? '',
    stepQueueUrl: variables[envNames.stepQueueUrl] ?? '',
    tokenKeys: variables[envNames.tokenKeys] ?? '',
    ...readPayloadKeySources(variables),
    managementToken: readManagementToken(variables),
    logLevel: readLogLevel(variables),
  };
}

/** Undefined when it is not set, or empty. */
export function readManagementToken(variables: Variables): string | undefined {
  return optional(variables, envNames.managementToken);
}

/** Each undefined when it is not set, or empty. */
export function readPayloadKeySources(variables: Variables): Pick<Env, 'payloadKeys' | 'payloadKmsKey'> {
  return {
    payloadKeys: optional(variables, envNames.payloadKeys),
    payloadKmsKey: optional(variables, envNames.payloadKmsKey),
  };
}

function optional(variables: Variables, name: string): string | undefined {
  return variables[name] === '' ? undefined : variables[name];
}

function readLogLevel(variables: Variables): LogLevel {
  const given = variables[envNames.logLevel] ?? 'info';
  const level = logLevels.find((name) => name === given);
  if (level === undefined)
    throw new EngineError('CONFIG_INVALID', `${envNames.logLevel} must be one of ${logLevels.join(', ')}`);
  return level;
}
