import { FlattenedSign, type CryptoKey, type JWK, type KeyObject } from 'jose';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.js';

/** The key with which cards are signed. */
export interface CardKey {
  readonly key: CryptoKey | KeyObject | JWK;
  readonly alg: 'ES256' | 'RS256' | 'PS256' | 'EdDSA';
  readonly kid: string;
}

/**
 * Returns the card with signatures (JWS over RFC 8785, A2A 1.0 section 8.4). Verifiers disagree whether empty values of
 * a card are signed: where it has any, both forms are, since one valid signature is enough.
 */
export async function signCard(card: JsonObject, { key, alg, kid }: CardKey): Promise<JsonObject> {
  const { signatures: _, ...unsigned } = card;
  const forms = new Set([canonicalJson(unsigned), canonicalJson(withoutEmpty(unsigned) ?? {})]);
  const signatures = await Promise.all(
    [...forms].map(async (form) => {
      const signing = new FlattenedSign(new TextEncoder().encode(form));
      const { protected: header = '', signature } = await signing
        .setProtectedHeader({ alg, kid, typ: 'JOSE' })
        .sign(key);
      return { protected: header, signature };
    }),
  );
  return { ...unsigned, signatures };
}

/** Returns undefined for an empty text, list or object, and for null. */
function withoutEmpty(value: JsonValue): JsonValue | undefined {
  if (value === '' || value === null) return undefined;
  if (Array.isArray(value)) {
    const kept = (value as readonly JsonValue[]).map(withoutEmpty).filter((entry) => entry !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const own = withoutEmpty(member);
    return own === undefined ? [] : [[name, own] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
