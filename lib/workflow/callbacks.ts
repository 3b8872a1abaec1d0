import { isList } from '../base/list.js';

/** Where the ends of runs may be told: the callback of a start (`POST /runs`). */
export interface CallbackRules {
  /** Hosts as in a URL, in lower case, with the port if it is not the default. Default: every host. */
  readonly allowedHosts?: readonly string[];
  /**
   * Whether to allow plain http and non-public addresses (loopback, private ranges). Default false; local mode allows
   * loopback.
   */
  readonly allowPrivateAddresses?: boolean;
}

/**
 * Returns what is wrong with the rules, if anything. Like what is served, they are checked when an app is built, and when
 * local mode loads it.
 */
export function problemWithCallbacks(rules: CallbackRules): string | undefined {
  const { allowedHosts, allowPrivateAddresses } = rules as Readonly<Record<string, unknown>>;
  if (allowedHosts !== undefined && !areHosts(allowedHosts)) return `allowedHosts ${mustBeHosts}`;
  if (allowPrivateAddresses === undefined || typeof allowPrivateAddresses === 'boolean') return undefined;
  return 'allowPrivateAddresses must be true or false';
}

// A host as in a URL, without scheme, path and user info.
const urlHost = /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/;

export const mustBeHosts = 'must be a list of hosts in lower case, such as "api.example.com:8443"';

export function areHosts(value: unknown): boolean {
  return isList(value) && value.every((host) => typeof host === 'string' && urlHost.test(host));
}
