import type { Role } from '../../base/caller.js';
import type { NamedKey } from '../../history/named-key.js';
import type { Item } from '../table.js';
import { fields, json, named, number, optional, text } from './fields.js';
import { keyListing } from './indexes.js';
import { namedKeyKey, namedKeyPrefix } from './keys.js';

export const namedKeyFields = fields<Omit<NamedKey, 'name'>>({
  roles: json<readonly Role[]>(),
  tenant: optional(text),
  createdAtMs: number,
  digest: named('keyDigest', optional(text)),
  oldDigest: named('oldKeyDigest', optional(text)),
  usedDay: optional(number),
  revokedAtMs: optional(number),
  by: optional(text),
});

export function namedKeyItem(key: NamedKey, writerId: string): Item {
  const { name, ...rest } = key;
  return { ...namedKeyKey(name), writerId, ...namedKeyFields.write(rest), ...keyListing(key) };
}

export const namedKeyName = ({ pk }: Pick<Item, 'pk'>): string => pk.slice(namedKeyPrefix.length);

export const toNamedKey = (item: Item): NamedKey => ({ name: namedKeyName(item), ...namedKeyFields.read(item) });
