import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { domainToUnicode } from 'node:url';
import { toError } from '@gateway/runtime/errors';
import { type AddressRules, judgeAddress } from './address-rules.js';
import { EgressError } from './egress-error.js';
import { type NameOptions, resolveName } from './resolve-name.js';

/** Where a URL of a stranger may lead. */
export interface FetchPolicy {
  /** Default: any. */
  ports?: readonly number[];
  addresses: AddressRules;
  names?: NameOptions;
  /** Of a simulator, which has a certificate of its own: what comes is checked by other means. */
  anyCertificate?: true;
  /** Without TLS only to networks that `addresses` allows beside the public ones. */
  isSecure?: true;
}

/** Of a name. */
const MAX_ADDRESSES = 32;
const ATTEMPTS_OF_FAMILY = 4;

/** Throws `EgressError` for a URL that is refused for what it says; what its name leads to is for `checkedLookup`. */
export function assertAllowed(url: URL, policy: FetchPolicy): void {
  const { ports } = policy;
  if (!isPlainHttpUrl(url)) throw new EgressError('scheme', url.hostname);
  if (ports && !ports.includes(Number(portOf(url)))) throw new EgressError('port', url.hostname);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host)) assertReachable([host], policy, url);
  else if (!policy.addresses.allowed.length) assertSecure(url, policy);
}

export function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

/** Whether a URL is of a kind that can be fetched, whatever it leads to. */
export function isPlainHttpUrl({ protocol, username, password, hostname, port }: URL): boolean {
  const isHttp = protocol === 'http:' || protocol === 'https:';
  const mayExist = port !== '0' && HOST.test(hostname) && !ENCODED_LABEL.test(domainToUnicode(hostname));
  return isHttp && !username && !password && mayExist;
}

/** The parser also takes labels that are empty, or longer than those of DNS. */
const HOST = /^(?=.{1,253}\.?$)(?:[^.]{1,63}(?:\.|$))+$/;

/** What is left of a label that decodes to nothing: the parser refuses it up to Node 22 only. */
const ENCODED_LABEL = /(^|\.)xn--/i;

/** One address that may not be reached is enough: such a name is a trap. */
function assertReachable(found: readonly string[], policy: FetchPolicy, url: URL): void {
  const { addresses } = policy;
  const { hostname } = url;
  const verdicts = found.map((address) => judgeAddress(address, addresses));
  if (verdicts.includes('denied')) throw new EgressError('denied_network', hostname);
  if (verdicts.includes('special')) throw new EgressError('address', hostname);
  if (!verdicts.every((verdict) => verdict === 'allowed')) assertSecure(url, policy);
}

function assertSecure({ protocol, hostname }: URL, { isSecure }: FetchPolicy): void {
  if (isSecure && protocol === 'http:') throw new EgressError('scheme', hostname);
}

/** Fails unless all addresses of a name may be reached, and they are no more than a real name has. */
export function checkedLookup(url: URL, policy: FetchPolicy, signal: AbortSignal): LookupFunction {
  return (hostname, options, callback) => {
    resolveName(hostname, signal, policy.names)
      .catch((thrown) => {
        throw new EgressError(signal.aborted ? 'too_slow' : 'name', hostname, toError(thrown));
      })
      .then((addresses) => {
        if (addresses.length > MAX_ADDRESSES) throw new EgressError('name', hostname);
        assertReachable(
          addresses.map(({ address }) => address),
          policy,
          url,
        );
        const [first] = addresses;
        if (options.all) callback(null, firstOfEach(addresses));
        else callback(null, first!.address, first!.family);
      })
      .catch((error: Error) => callback(error, ''));
  };
}

/** The first that answers is used, so each of those that do not costs a connection to wherever the name says. */
function firstOfEach(addresses: readonly LookupAddress[]): LookupAddress[] {
  const ofFamily = (wanted: number) => addresses.filter(({ family }) => family === wanted);
  return [4, 6].flatMap((family) => ofFamily(family).slice(0, ATTEMPTS_OF_FAMILY));
}
