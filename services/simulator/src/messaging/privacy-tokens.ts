import type { Network } from '../network/network.js';
import { node, stamp } from '../wire/nodes.js';

/** Tokens are dated, and good as long as their date falls into one of the latest four weeks of the calendar (buckets). */
const BUCKET_SECONDS = 7 * 24 * 3600;
const VALID_BUCKETS = 4;

/** Who gave a token to whom, by number. */
export interface TokenPair {
  readonly giver: string;
  readonly holder: string;
}

/** What the tokens for strangers of an account are made of. Clients learn it from the first history only. */
export function saltOf({ seed }: Network, number: string): Buffer {
  return seed.derive(`nct-salt/${number}`);
}

/** A person trusts an account from now on: the token that says so. The latest few are remembered, of those that are good. */
function grantToken(network: Network, pair: TokenPair, atSeconds: number): Buffer {
  const { tokens } = network.accounts.ensure(pair.holder);
  const nowSeconds = Math.floor(network.now() / 1000);
  const dates = new Set([...(tokens.get(pair.giver) ?? []), atSeconds]);
  const good = [...dates].filter((each) => isValid(each, nowSeconds)).sort((one, other) => one - other);
  tokens.set(pair.giver, good.slice(-VALID_BUCKETS));
  return secretOf(network, pair, atSeconds);
}

/** The token that a new client of the holder is told of, with its date. A person it talks with has given one. */
export function currentToken(
  network: Network,
  pair: TokenPair,
): { readonly token: Buffer; readonly atSeconds: number } {
  const nowSeconds = Math.floor(network.now() / 1000);
  const known = network.accounts.ensure(pair.holder).tokens.get(pair.giver)?.at(-1);
  const atSeconds = known !== undefined && isValid(known, nowSeconds) ? known : nowSeconds;
  return { token: grantToken(network, pair, atSeconds), atSeconds };
}

/** People give a token with what they write, once a bucket. */
export function giveTokenWhenDue(network: Network, pair: TokenPair): void {
  const holder = network.accounts.find(pair.holder);
  if (!network.rules.wantsTokens || !holder?.isLinked) return;
  const nowSeconds = Math.floor(network.now() / 1000);
  const last = holder.tokens.get(pair.giver)?.at(-1);
  if (last !== undefined && bucketOf(last) >= bucketOf(nowSeconds)) return;
  announceToken(network, pair, nowSeconds);
}

/** Grants a token and tells the holder's clients of it. */
export function announceToken(network: Network, pair: TokenPair, atSeconds: number): void {
  const { directory, accounts, now } = network;
  const { giver, holder } = pair;
  const t = String(atSeconds);
  const head = { from: directory.jidOf(giver, 'pn'), sender_lid: directory.jidOf(giver, 'lid'), type: 'privacy_token' };
  const about = { jid: directory.jidOf(holder, 'pn'), t, type: 'trusted_contact' };
  const token = node('token', about, grantToken(network, pair, atSeconds));
  const attrs = { ...head, id: `token-${giver}-${t}`, t: stamp(now()) };
  const notification = node('notification', attrs, [node('tokens', {}, [token])]);
  for (const device of accounts.find(holder)?.devices.values() ?? []) device.mailbox.post(notification);
}

/** Is this a token that the person gave to the holder, and not too long ago? */
export function isGivenToken(network: Network, pair: TokenPair, shown: Buffer): boolean {
  const nowSeconds = Math.floor(network.now() / 1000);
  const dates = network.accounts.find(pair.holder)?.tokens.get(pair.giver) ?? [];
  return dates.some((each) => isValid(each, nowSeconds) && secretOf(network, pair, each).equals(shown));
}

function secretOf({ seed }: Network, { giver, holder }: TokenPair, atSeconds: number): Buffer {
  return seed.derive(`token/${giver}/${holder}/${atSeconds}`);
}

const bucketOf = (atSeconds: number) => Math.floor(atSeconds / BUCKET_SECONDS);

function isValid(atSeconds: number, nowSeconds: number): boolean {
  return bucketOf(atSeconds) > bucketOf(nowSeconds) - VALID_BUCKETS && atSeconds <= nowSeconds + BUCKET_SECONDS;
}
