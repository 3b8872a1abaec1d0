import ipaddr from 'ipaddr.js';

/** Which addresses a request may be sent to. */
export type AddressRule =
  /** Public unicast. */
  | 'public'
  /** Public unicast and this machine. */
  | 'public_or_loopback'
  /** This machine. */
  | 'loopback'
  /** Public unicast, this machine and private networks; still none where clouds keep credentials, link-local or not. */
  | 'private';

const privateRanges: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'];
const ipv4Compatible = ipaddr.parseCIDR('::/96');
/** In private ranges, and yet where clouds keep credentials: AWS (metadata and pod identity over IPv6), Alibaba. */
const keptBack = ['fd00:ec2::/32', '100.100.100.200/32'].map((range) => ipaddr.parseCIDR(range));

/** True when `address`, an IP address in text form, may be dialled under `rule`. False for what is no address. */
export function isAllowedAddress(address: string, rule: AddressRule): boolean {
  if (!ipaddr.isValid(address)) return false;
  // Turns ::ffff:10.0.0.1 into 10.0.0.1.
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  switch (rule) {
    case 'public':
      return isPublic(parsed, range);
    case 'public_or_loopback':
      return isPublic(parsed, range) || range === 'loopback';
    case 'loopback':
      return range === 'loopback';
    case 'private':
      return isPublic(parsed, range) || (privateRanges.includes(range) && !isKeptBack(parsed));
  }
}

function isKeptBack(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return keptBack.some((range) => address.kind() === range[0].kind() && address.match(range));
}

/** `::7f00:1` counts as unicast for ipaddr.js, but is a dead form of 127.0.0.1. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6, range: string): boolean {
  return range === 'unicast' && !(address.kind() === 'ipv6' && (address as ipaddr.IPv6).match(ipv4Compatible));
}
