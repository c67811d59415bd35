import ipaddr from 'ipaddr.js';

type Network = ReturnType<typeof ipaddr.parseCIDR>;

/** Networks of either family, as CIDR. */
export type Networks = readonly Network[];

/** The operator's rules for addresses, beside the built-in ones. */
export interface AddressRules {
  /** Networks beside the public ones that may be reached. */
  allowed: Networks;
  /** Networks that may not be reached, whatever else is said of them. */
  denied?: Networks;
  /** Prefixes of this network's own translators (NAT64). The IPv4 address inside is what counts. */
  nat64?: Networks;
}

/** `special`: this machine, its network, its cloud, or nowhere. `denied`: by the operator. */
export type Verdict = 'public' | 'allowed' | 'special' | 'denied';

/** Global unicast of IPv6: what lies outside is special, or not given out to anyone. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Hosts of clouds, and networks that are not given out, among addresses that look public. */
const SPECIAL = [
  // Azure's host: answers each virtual machine with its settings, and with keys.
  '168.63.129.16/32',
  // Returned by the 6bone in 2006 (RFC 3701).
  '3ffe::/16',
  // For documentation, like 2001:db8::/32 (RFC 9637).
  '3fff::/20',
].map((network) => ipaddr.parseCIDR(network));
const WELL_KNOWN_NAT64 = ipaddr.parseCIDR('64:ff9b::/96');
/** Bytes of an IPv6 address that hold the IPv4 one, by length of the prefix (RFC 6052, 2.2). Byte 8 is always zero. */
const EMBEDDED_AT: Record<number, readonly number[]> = {
  32: [4, 5, 6, 7],
  40: [5, 6, 7, 9],
  48: [6, 7, 9, 10],
  56: [7, 9, 10, 11],
  64: [9, 10, 11, 12],
  96: [12, 13, 14, 15],
};

/** @throws for what is not a list of networks in CIDR notation. */
export function parseNetworks(list: string): Networks {
  return list.split(',').map((network) => ipaddr.parseCIDR(network.trim()));
}

/** Whether every address of some network is in one of the others. */
export function holdAllOfOne(others: Networks, networks: Networks): boolean {
  return networks.some(([network, bits]) =>
    isIn(
      network,
      others.filter(([, theirs]) => theirs <= bits),
    ),
  );
}

/** @throws for what is not a list of IPv6 prefixes of 32, 40, 48, 56, 64 or 96 bits. */
export function parseNat64Prefixes(list: string): Networks {
  const prefixes = parseNetworks(list);
  if (!prefixes.every(([network, bits]) => network.kind() === 'ipv6' && EMBEDDED_AT[bits])) {
    throw new Error('must be IPv6 prefixes of 32, 40, 48, 56, 64 or 96 bits');
  }
  return prefixes;
}

/**
 * Whether an address belongs to someone on the public internet: not to this machine, its network, its cloud's metadata
 * service, or to a way of writing one of these (an IPv4 address inside an IPv6 one counts as what is inside).
 */
export function judgeAddress(address: string, rules: AddressRules): Verdict {
  return ipaddr.isValid(address) ? judge(ipaddr.process(address), rules) : 'special';
}

function judge(ip: ipaddr.IPv4 | ipaddr.IPv6, rules: AddressRules): Verdict {
  const { allowed, denied = [], nat64 = [] } = rules;
  if (isIn(ip, denied)) return 'denied';
  const translated = [WELL_KNOWN_NAT64, ...nat64].find((prefix) => isIn(ip, [prefix]));
  if (translated) return judgeTranslated(ip.toByteArray(), translated[1], rules);
  if (isIn(ip, allowed)) return 'allowed';
  if (ip.range() !== 'unicast' || isIn(ip, SPECIAL)) return 'special';
  return ip instanceof ipaddr.IPv4 || ip.match(GLOBAL_V6) ? 'public' : 'special';
}

function judgeTranslated(bytes: number[], prefixBits: number, rules: AddressRules): Verdict {
  if (prefixBits < 96 && bytes[8] !== 0) return 'special';
  return judge(new ipaddr.IPv4(EMBEDDED_AT[prefixBits]!.map((at) => bytes[at]!)), rules);
}

function isIn(ip: ipaddr.IPv4 | ipaddr.IPv6, networks: Networks): boolean {
  return networks.some(([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits));
}
