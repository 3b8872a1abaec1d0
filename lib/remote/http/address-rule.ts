import ipaddr from 'ipaddr.js';

/** Which addresses a request may be sent to. */
export type AddressRule =
  /** Public unicast. Under every rule, addresses where clouds keep credentials are excluded, link-local or not. */
  | 'public'
  /** Public unicast and this machine. */
  | 'public_or_loopback'
  /** This machine. */
  | 'loopback'
  /** Public unicast, this machine and private networks. */
  | 'private';

const privateRanges: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'];
const ipv4Compatible = ipaddr.parseCIDR('::/96');
/**
 * Addresses where clouds keep credentials, within ranges that may otherwise be dialled: AWS (metadata and pod identity
 * over IPv6), Google and Scaleway over IPv6, Azure, Alibaba. Link-local ones, and those inside NAT64 and 6to4, are not
 * in such a range.
 */
const keptBack = ['fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128', '168.63.129.16/32', '100.100.100.200/32'].map(
  (range) => ipaddr.parseCIDR(range),
);

/** Whether `address`, an IP address in text form, may be dialled under `rule`. False if it is not an IP address. */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  if (!ipaddr.isValid(address)) return false;
  // Turns ::ffff:10.0.0.1 into 10.0.0.1.
  const parsed = ipaddr.process(address);
  if (isKeptBack(parsed)) return false;
  const range = parsed.range();
  switch (rule) {
    case 'public':
      return isPublic(parsed, range);
    case 'public_or_loopback':
      return isPublic(parsed, range) || range === 'loopback';
    case 'loopback':
      return range === 'loopback';
    case 'private':
      return isPublic(parsed, range) || privateRanges.includes(range);
  }
}

function isKeptBack(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return keptBack.some((range) => address.kind() === range[0].kind() && address.match(range));
}

/** Excludes `::7f00:1`, which ipaddr.js counts as unicast but is an obsolete form of 127.0.0.1. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6, range: string): boolean {
  return range === 'unicast' && !(address.kind() === 'ipv6' && (address as ipaddr.IPv6).match(ipv4Compatible));
}
