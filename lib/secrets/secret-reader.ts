import { isJsonObject, type JsonValue } from '../base/json.js';
import type { Clock, EpochMs } from '../base/time.js';
import type { SecretReference, SecretSource } from '../workflow/server-auth.js';
import type { AwsSecrets } from './aws-secrets.js';
import { Secret } from './secret.js';

/** Age after which a secret of AWS is read again. */
const secretCacheMs = 60_000;
/** Age up to which a value is used while AWS does not answer. */
const secretStaleMaxMs = 3_600_000;

export interface SecretReaderDeps {
  readonly clock: Clock;
  /** Returns the value of an environment variable. */
  readonly readSecret: (name: string) => string | undefined | Promise<string | undefined>;
  readonly aws: AwsSecrets;
}

interface Kept {
  readonly value: Secret;
  readonly readAtMs: EpochMs;
  /** Whether AWS must be asked again before the value is used. */
  isOld: boolean;
}

/**
 * Values of secrets by reference. Environment variables are read each time; AWS secrets are cached for a minute, and
 * for up to an hour while AWS is unavailable.
 */
export class SecretReader {
  readonly #deps: SecretReaderDeps;
  readonly #kept = new Map<string, Kept>();
  readonly #reading = new Map<string, Promise<Secret | undefined>>();

  constructor(deps: SecretReaderDeps) {
    this.#deps = deps;
  }

  /**
   * Returns undefined if there is no such secret, or it is empty.
   * @throws EngineError `REMOTE_UNREACHABLE` if AWS cannot be asked
   */
  async read(source: SecretSource): Promise<Secret | undefined> {
    if (typeof source === 'string') return toSecret(source);
    if (source.kind === 'environment') return toSecret(await this.#deps.readSecret(source.name));
    const key = JSON.stringify(source);
    const kept = this.#kept.get(key);
    if (kept !== undefined && !kept.isOld && this.#ageMs(kept) < secretCacheMs) return kept.value;
    const reading = this.#reading.get(key) ?? this.#readAnew(key, source);
    this.#reading.set(key, reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(key);
    }
  }

  /** Marks values that the server refused, so that the next read asks AWS. Returns true if there was a cached value. */
  forget(sources: readonly SecretSource[]): boolean {
    const kept = sources.map((source) => this.#kept.get(JSON.stringify(source))).filter((entry) => entry !== undefined);
    for (const entry of kept) entry.isOld = true;
    return kept.length > 0;
  }

  async #readAnew(key: string, source: Exclude<SecretReference, { kind: 'environment' }>): Promise<Secret | undefined> {
    try {
      const value = toSecret(await this.#ask(source));
      if (value === undefined) this.#kept.delete(key);
      else this.#kept.set(key, { value, readAtMs: this.#deps.clock.nowMs(), isOld: false });
      return value;
    } catch (error) {
      const kept = this.#kept.get(key);
      if (kept !== undefined && this.#ageMs(kept) < secretStaleMaxMs) return kept.value;
      throw error;
    }
  }

  async #ask(source: Exclude<SecretReference, { kind: 'environment' }>): Promise<string | undefined> {
    switch (source.kind) {
      case 'ssmParameter':
        return this.#deps.aws.readParameter(source.name);
      case 'secretsManager': {
        const whole = await this.#deps.aws.readSecret(source.name);
        return source.field === undefined || whole === undefined ? whole : fieldOf(whole, source.field);
      }
    }
  }

  #ageMs({ readAtMs }: Kept): number {
    return this.#deps.clock.nowMs() - readAtMs;
  }
}

/** Returns how a reference is named in an error; never the value. */
export function describeSource(source: SecretSource): string {
  if (typeof source === 'string') return 'a secret';
  const field = source.kind === 'secretsManager' && source.field !== undefined ? `, field "${source.field}",` : '';
  return `the secret "${source.name}"${field}`;
}

function toSecret(value: string | undefined): Secret | undefined {
  return value === undefined || value === '' ? undefined : new Secret(value);
}

function fieldOf(text: string, field: string): string | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  const found = isJsonObject(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  return typeof found === 'string' ? found : undefined;
}
