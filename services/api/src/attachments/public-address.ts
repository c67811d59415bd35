import ipaddr from 'ipaddr.js';

/** Global unicast of IPv6: what lies outside is special, or not given out to anyone. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** For documentation, like `2001:db8::/32`. */
const DOCUMENTATION_V6 = ipaddr.IPv6.parseCIDR('3fff::/20');

/** Networks beside the public ones that may be reached, as CIDR. */
export type AllowedNetworks = readonly ReturnType<typeof ipaddr.parseCIDR>[];

/** @throws for what is not CIDR notation. */
export function parseNetworks(list: string): AllowedNetworks {
  return list.split(',').map((network) => ipaddr.parseCIDR(network.trim()));
}

/**
 * Whether an address belongs to somebody on the public internet: not to this machine, its network, its cloud's metadata
 * service, or to a way of writing one of these (an IPv4 address inside an IPv6 one counts as what is inside).
 */
export function isReachable(address: string, allowed: AllowedNetworks): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  if (allowed.some(([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits))) return true;
  if (ip.range() !== 'unicast') return false;
  return ip instanceof ipaddr.IPv4 || (ip.match(GLOBAL_V6) && !ip.match(DOCUMENTATION_V6));
}
