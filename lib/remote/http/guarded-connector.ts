import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
import { isAllowedAddress, type AddressRule } from './address-rule.js';

/** No connection was established, so not a byte of the request can have reached the server. */
export class NotConnected extends Error {
  override readonly name = 'NotConnected';
  /** Code of Node, undici or OpenSSL, such as `ECONNREFUSED`; `undefined` if there is none. */
  readonly code: string | undefined;
  /** Whether the name has no address that may be dialled. */
  readonly addressRefused: boolean;

  constructor(cause: unknown) {
    super('no connection');
    this.code = codeOf(cause);
    this.addressRefused = cause instanceof AddressRefused;
  }
}

export class AddressRefused extends Error {}

/**
 * Wraps an undici connector so that every failure up to the end of the TLS handshake is a `NotConnected`. The stage
 * decides, not the code: `ECONNRESET` can come before a request and after it.
 */
export function tellingConnector(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(new NotConnected(error), null);
    });
  };
}

/**
 * Returns a lookup that hands out allowed addresses only: the address checked is the one dialled, even if a name is
 * rebound.
 */
export function guardedLookup(rule: AddressRule, lookup: LookupFunction = dns.lookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const addresses = Array.isArray(found) ? found.filter(({ address }) => isAllowedAddress(address, rule)) : [];
      const [first] = addresses;
      if (first === undefined) callback(new AddressRefused('address refused'), '');
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Returns the error code of `thrown` if it is a plain one, since it goes into texts that users read. */
export function codeOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error ? (thrown as { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : undefined;
}
