import type { Duration } from '../base/time.js';
import type { PrivateKeyAlgorithm } from './server-auth.js';

/** A signed token (JWT) that is required of a sender. */
export interface JwtAuth extends Omit<JwtOptions, 'audience' | 'maxAge'> {
  readonly scheme: 'jwt';
  readonly audience?: readonly string[];
  readonly algorithms: readonly JwtAlgorithm[];
  readonly maxAgeMs: number;
}

/** Algorithms with a public key. There is none with a shared secret, so a public key is never taken for one. */
export type JwtAlgorithm = PrivateKeyAlgorithm;

/** Options of `jwtWebhook`. */
export interface JwtOptions {
  /** `iss` of the tokens. */
  readonly issuer: string;
  /** URL of the issuer's public keys (RFC 7517). No other keys are used, whatever a token names. */
  readonly jwksUrl: string;
  /**
   * `aud` that a token must have, or a list of which it must have one. Required for hooks and relays. Default for
   * pushes: the URL that the agent was given for this task.
   */
  readonly audience?: string | readonly string[];
  /** `sub` that a token must have: for an issuer that several senders share. Default: any. */
  readonly subject?: string;
  /** Default: ES256, EdDSA and RS256. */
  readonly algorithms?: readonly JwtAlgorithm[];
  /** Age up to which a token is accepted, even if it expires later: at most an hour. Default 5 minutes. */
  readonly maxAge?: Duration;
  /**
   * Whether a token must hold the digest of the body, `request_body_sha256`. Default false: the digest is checked if it
   * is there; otherwise only TLS protects the body.
   */
  readonly requireBodyHash?: boolean;
  /** Whether the keys may be at a non-public address, or at one with plain http. Default false. */
  readonly allowPrivateAddresses?: boolean;
}
