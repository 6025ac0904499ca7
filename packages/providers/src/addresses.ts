import { BlockList, isIP } from 'node:net';

/** Addresses outside the public internet, such as this machine, private networks and metadata services of clouds. */
const inner = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  inner.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  // The next ranges, up to and including 2001::/32, contain addresses with an embedded IPv4 address. They are listed
  // whole, because the embedded address would need its own check.
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['100::', 64],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  inner.addSubnet(network, prefix, 'ipv6');
}

/**
 * This machine and the private networks, which `allow_private` permits. One list for each family: a shared list would compare an
 * IPv6 address by the IPv4 address embedded in it.
 */
const own = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  own.ipv4.addSubnet(network, prefix, 'ipv4');
}
own.ipv6.addAddress('::1', 'ipv6');
own.ipv6.addSubnet('fc00::', 7, 'ipv6');
// The addresses of metadata services that are in the networks of `own`. Such services return credentials of the cloud.
const metadata = new BlockList();
metadata.addAddress('100.100.100.200', 'ipv4');
metadata.addSubnet('fd00:ec2::', 32, 'ipv6');
metadata.addSubnet('fd20:ce::', 32, 'ipv6');

/** Returns whether an address belongs to this machine or a private network, and not to a metadata service of a cloud. */
export function isOwn(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return isIP(address) !== 0 && own[family].check(address, family) && !metadata.check(address, family);
}

/** Returns whether an address lies outside the public internet; true also for a text that is not an address. */
export function isInner(address: string): boolean {
  const family = isIP(address);
  return family === 0 || inner.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
