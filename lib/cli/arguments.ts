import { InvalidArgumentError } from 'commander';
import { isRunId } from '../base/ids.js';
import { type JsonValue, utf8Bytes } from '../base/json.js';
import { idempotencyKeyMaxBytes } from '../base/limits.js';

// Parsers of arguments. Commander puts what was given before the message and ends with a usage error.

export function runIdArgument(text: string): string {
  if (!isRunId(text)) throw new InvalidArgumentError('A run id is 32 characters of 0-9 and a-f.');
  return text;
}

export function jsonArgument(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new InvalidArgumentError(`It must be JSON, for example '{"month":"2026-11"}'.`);
  }
}

export function keyArgument(text: string): string {
  const sizeBytes = utf8Bytes(text);
  if (sizeBytes === 0 || sizeBytes > idempotencyKeyMaxBytes)
    throw new InvalidArgumentError(`A key is 1 to ${idempotencyKeyMaxBytes} bytes.`);
  return text;
}

export function wholeNumberArgument(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < min || number > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return number;
  };
}

export function urlArgument(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('It must be an http or https URL, for example http://127.0.0.1:4000.');
  return url.origin + url.pathname.replace(/\/$/, '');
}

export function textArgument(maxChars: number): (text: string) => string {
  return (text) => {
    if (text.length > maxChars) throw new InvalidArgumentError(`It must be at most ${maxChars} characters.`);
    return text;
  };
}
