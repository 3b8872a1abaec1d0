import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';

/** Claim of a sender: a holder of the secret made one of these digests or signatures. */
export interface Claim {
  /** Signed pieces, in order. None: the secret itself was sent. */
  readonly signed: readonly (string | Uint8Array)[];
  /** Digests of 32 bytes. */
  readonly given: readonly Uint8Array[];
  /** Signatures of 64 bytes, which are verified with a public key. Default: none. */
  readonly signatures?: readonly Uint8Array[];
  /** Whether the signed pieces have a time, so that the proof ends by itself. Default false. */
  readonly isTimed?: boolean;
  /** The same for each repetition of one delivery. */
  readonly deliveryId: string;
}

export const pastMaxSeconds = 300;
export const futureMaxSeconds = 60;

/** Whether a time in seconds since 1970, of exactly ten digits, is at most 300 s ago and at most 60 s ahead. */
export function isFresh(timestamp: string, atMs: number): boolean {
  if (!/^[0-9]{10}$/.test(timestamp)) return false;
  const ageSeconds = Math.floor(atMs / 1_000) - Number(timestamp);
  return ageSeconds <= pastMaxSeconds && ageSeconds >= -futureMaxSeconds;
}

/** Returns a digest written as 64 lower-case hex digits; undefined for anything else. */
export function digestFromHex(text: string): Uint8Array | undefined {
  return /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/** Returns `length` bytes written in base64, with its padding; undefined for anything else. */
export function bytesFromBase64(text: string, length: number): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  // Compares the text, since Node skips what is not base64: the same bytes have one spelling.
  return bytes.length === length && bytes.toString('base64') === text ? bytes : undefined;
}

/** Computes HMAC-SHA256 over pieces, as if they were one. */
export function hmacOf(key: string | Uint8Array, pieces: Claim['signed']): Uint8Array {
  const mac = createHmac('sha256', key);
  for (const piece of pieces) mac.update(piece);
  return mac.digest();
}

/**
 * Whether the holder of an Ed25519 key made any of the signatures, over pieces as if they were one. Undefined if these 32
 * bytes are no public key.
 */
export function isSignedBy(
  publicKey: Uint8Array,
  pieces: Claim['signed'],
  signatures: readonly Uint8Array[],
): boolean | undefined {
  const x = Buffer.from(publicKey).toString('base64url');
  const signed = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return signatures.some((signature) => verify(null, signed, key, signature));
  } catch {
    return undefined;
  }
}

export function sha256(bytes: string | Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Whether any of `given` is one of `expected`. Compares each with each, so that the time reveals nothing. */
export function hasCommon(given: readonly Uint8Array[], expected: readonly Uint8Array[]): boolean {
  let isCommon = false;
  for (const mine of expected) {
    for (const theirs of given) {
      // timingSafeEqual throws for other lengths.
      const isEqual = theirs.length === mine.length && timingSafeEqual(theirs, mine);
      isCommon = isEqual || isCommon;
    }
  }
  return isCommon;
}
