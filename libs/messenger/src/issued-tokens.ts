import type { AuthenticationState, BaileysSocket } from './baileys.js';
import type { SessionCaches } from './session-caches.js';

/** As in the library: a contact gets a new token in each of these spans of time. */
const BUCKET_SECONDS = 7 * 24 * 60 * 60;

export interface IssuedTokensDeps {
  sock: BaileysSocket;
  keys: AuthenticationState['keys'];
  caches: SessionCaches;
}

/**
 * Notes who was issued a privacy token. The library issues one with the first message of a week, and would note it if
 * its note did not go to a transaction that has ended by then: it is lost, and each message costs a query to the network.
 *
 * To be called once the network has accepted a message to `jid`: the query went out right behind it.
 */
export async function noteIssuedToken({ sock, keys, caches }: IssuedTokensDeps, jid: string): Promise<void> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const bucket = Math.floor(nowSeconds / BUCKET_SECONDS);
  if (caches.issuedTokens.get(jid) === bucket) return;
  caches.issuedTokens.set(jid, bucket);
  const id = (await sock.signalRepository.lidMapping.getLIDForPN(jid)) ?? jid;
  const { [id]: entry } = await keys.get('tctoken', [id]);
  if (Math.floor((entry?.senderTimestamp ?? 0) / BUCKET_SECONDS) === bucket) return;
  const noted = { token: Buffer.alloc(0), ...entry, senderTimestamp: nowSeconds };
  await keys.set({ tctoken: { [id]: noted, __index: { token: Buffer.from(JSON.stringify([id])) } } });
}
