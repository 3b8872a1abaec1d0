import { describe, expect, it } from 'vitest';
import { isAllowedAddress, type AddressRule } from '../../../lib/remote/http/address-rule.js';

const table: readonly [
  address: string,
  publicRule: boolean,
  publicOrLoopback: boolean,
  loopback: boolean,
  privateRule: boolean,
][] = [
  ['8.8.8.8', true, true, false, true],
  ['2606:4700::1', true, true, false, true],
  ['127.0.0.1', false, true, true, true],
  ['127.9.9.9', false, true, true, true],
  ['::1', false, true, true, true],
  ['::ffff:127.0.0.1', false, true, true, true],
  ['10.0.0.1', false, false, false, true],
  ['172.16.0.1', false, false, false, true],
  ['192.168.1.1', false, false, false, true],
  ['::ffff:10.0.0.1', false, false, false, true],
  ['100.64.0.1', false, false, false, true],
  ['fc00::1', false, false, false, true],
  ['fd00:ec1::1', false, false, false, true],
  ['fd00:ec2::254', false, false, false, false],
  ['fd00:ec2::23', false, false, false, false],
  ['100.100.100.200', false, false, false, false],
  ['::ffff:100.100.100.200', false, false, false, false],
  ['::7f00:1', false, false, false, false],
  ['169.254.169.254', false, false, false, false],
  ['::ffff:169.254.169.254', false, false, false, false],
  ['fe80::1', false, false, false, false],
  ['0.0.0.0', false, false, false, false],
  ['::', false, false, false, false],
  ['224.0.0.1', false, false, false, false],
  ['255.255.255.255', false, false, false, false],
  ['192.0.2.1', false, false, false, false],
  ['198.18.0.1', false, false, false, false],
  ['64:ff9b::7f00:1', false, false, false, false],
  ['2002:7f00:1::', false, false, false, false],
  ['example.com', false, false, false, false],
];

describe('isAllowedAddress', () => {
  it.each(table)('%s: public %s, public_or_loopback %s, loopback %s, private %s', (address, ...expected) => {
    const rules: readonly AddressRule[] = ['public', 'public_or_loopback', 'loopback', 'private'];
    expect(rules.map((rule) => isAllowedAddress(address, rule))).toEqual(expected);
  });
});

describe('F93 where clouds keep credentials', () => {
  it.each([
    ['AWS, Azure, Google, Oracle and others', '169.254.169.254'],
    ['AWS, containers', '169.254.170.2'],
    ['AWS over IPv6', 'fd00:ec2::254'],
    ['AWS, pods over IPv6', 'fd00:ec2::23'],
    ['Google over IPv6', 'fd20:ce::254'],
    ['Scaleway over IPv6', 'fd00:42::42'],
    ['Azure, the host of a machine', '168.63.129.16'],
    ['Alibaba', '100.100.100.200'],
    ['Oracle, before 169.254.169.254', '192.0.0.192'],
    ['mapped to IPv6', '::ffff:168.63.129.16'],
    ['mapped to IPv6, in hexadecimal', '::ffff:a83f:8110'],
    ['compatible with IPv4', '::a83f:8110'],
    ['translated', '::ffff:0:a83f:8110'],
    ['NAT64', '64:ff9b::a83f:8110'],
    ['NAT64, of a network of its own', '64:ff9b:1::a83f:8110'],
    ['NAT64 of a private one', '64:ff9b::6464:64c8'],
    ['6to4', '2002:a83f:8110::1'],
    ['6to4 of a private one', '2002:6464:64c8::1'],
  ])('no rule lets anybody dial it: %s, %s', (_whose, address) => {
    const rules: readonly AddressRule[] = ['public', 'public_or_loopback', 'loopback', 'private'];
    expect(rules.filter((rule) => isAllowedAddress(address, rule))).toEqual([]);
  });

  it.each(['168.63.129.15', '168.63.129.17'])('their neighbours stay public: %s', (address) => {
    expect(isAllowedAddress(address, 'public')).toBe(true);
  });

  it.each(['fd20:ce::253', 'fd00:42::41', '100.100.100.199'])('their neighbours stay private: %s', (address) => {
    expect(isAllowedAddress(address, 'private')).toBe(true);
  });
});
